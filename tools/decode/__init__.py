"""The parts of the second decoder, by those of `docs/FORMAT/`; `decode.py` beside this folder is the command."""
