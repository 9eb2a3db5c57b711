#!/usr/bin/env python3
"""Drops files on a window of X11 as a file manager does (XDND, version 5): drop_files.py WINDOW X Y FILE…

WINDOW is a number as xdotool prints it, X and Y a place on the screen. Needs python3-xlib.
"""
import sys
import time
from pathlib import Path

from Xlib import X, Xatom, display
from Xlib.protocol import event

target_id, x, y = (int(argument, 0) for argument in sys.argv[1:4])
text = "".join(Path(name).resolve().as_uri() + "\r\n" for name in sys.argv[4:]).encode()

d = display.Display()
atom = d.intern_atom
target = d.create_resource_object("window", target_id)
own = d.screen().root.create_window(0, 0, 1, 1, 0, X.CopyFromParent)
own.set_selection_owner(atom("XdndSelection"), X.CurrentTime)


def tell(kind, data):
    message = event.ClientMessage(window=target, client_type=atom(kind), data=(32, data))
    target.send_event(message, event_mask=0)
    d.flush()


tell("XdndEnter", [own.id, 5 << 24, atom("text/uri-list"), 0, 0])
tell("XdndPosition", [own.id, 0, x << 16 | y, X.CurrentTime, atom("XdndActionCopy")])
dropped = False
end = time.time() + 10
while time.time() < end:
    if not d.pending_events():
        time.sleep(0.02)
        continue
    e = d.next_event()
    if e.type == X.SelectionRequest:
        e.requestor.change_property(e.property, e.target, 8, text)
        answer = event.SelectionNotify(
            time=e.time, requestor=e.requestor, selection=e.selection, target=e.target, property=e.property
        )
        e.requestor.send_event(answer)
        d.flush()
    elif e.type == X.ClientMessage and e.client_type == atom("XdndStatus") and not dropped:
        # It is sent again whenever the pointer moves; one drop is enough.
        dropped = True
        time.sleep(0.2)
        tell("XdndDrop", [own.id, 0, X.CurrentTime, 0, 0])
    elif e.type == X.ClientMessage and e.client_type == atom("XdndFinished"):
        sys.exit(0)
sys.exit("the window did not take it")
