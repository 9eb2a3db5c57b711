#!/usr/bin/env python3
"""Closes a window of X11 as a window manager does when its cross is clicked: close_window.py WINDOW

WINDOW is a number as xdotool prints it. Needs python3-xlib.
"""
import sys

from Xlib import X, display
from Xlib.protocol import event

d = display.Display()
target = d.create_resource_object("window", int(sys.argv[1], 0))
data = (32, [d.intern_atom("WM_DELETE_WINDOW"), X.CurrentTime, 0, 0, 0])
closes = event.ClientMessage(window=target, client_type=d.intern_atom("WM_PROTOCOLS"), data=data)
target.send_event(closes, event_mask=0)
d.flush()
