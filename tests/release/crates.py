"""Each crate's archive has its README, both licences, and no file that only tests of the repository need."""

import json
import pathlib
import sys
import tarfile

metadata = json.loads(pathlib.Path(sys.argv[1]).read_text())
folder = pathlib.Path(sys.argv[2])
published = [package for package in metadata['packages'] if package['publish'] is None]
assert len(published) >= 18, [package['name'] for package in published]
for package in published:
    name = f"{package['name']}-{package['version']}"
    for key in ['description', 'license', 'repository', 'documentation', 'readme']:
        assert package[key], f'{name}: no {key}'
    assert 1 <= len(package['keywords']) <= 5 and package['categories'], f'{name}: keywords, categories'
    for dependency in package['dependencies']:
        if dependency['name'].startswith('meshreel') and dependency['kind'] != 'dev':
            assert dependency['req'] != '*', f"{name}: no version of {dependency['name']}"
    # Where Cargo leaves it depends on its version; copies are equal.
    archive = next(folder.rglob(f'{name}.crate'))
    with tarfile.open(archive) as files:
        members = {member.name.removeprefix(name + '/'): member for member in files.getmembers()}
    for file in ['README.md', 'LICENSE-APACHE', 'LICENSE-MIT', 'Cargo.toml']:
        assert members[file].isfile() and members[file].size > 300, f'{name}: {file}'
    strays = [file for file in members if file.startswith(('tests/', 'proptest-regressions/'))]
    assert not strays, f'{name}: {strays}'
    print(f'{archive.stat().st_size / 1024:8.0f} kB  {name}')
