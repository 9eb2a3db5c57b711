"""Work that takes long: on a thread of its own beside the window, which shows progress and takes Esc; in the
background at once."""

import threading
import traceback

import bpy
import meshreel

from . import reports

#: Seconds from one look at the thread to the next.
_TICK = 0.1


class Job:
    """`work(progress)` on a thread; progress is for functions of the package, which it tells to end."""

    def __init__(self, work):
        self._work = work
        self._cancelled = threading.Event()
        self._thread = threading.Thread(target=self._run, name="meshreel")
        #: Phase, how much of it is done, and of how much.
        self.step = ("", 0, 0)
        self.result = None
        self.error = None

    def _progress(self, phase, done, total):
        self.step = (phase, done, total)
        return not self._cancelled.is_set()

    def _run(self):
        try:
            self.result = self._work(self._progress)
        except BaseException as error:  # Told by whoever waits.
            self.error = error

    def start(self):
        self._thread.start()

    def cancel(self):
        self._cancelled.set()

    def is_running(self):
        return self._thread.is_alive()

    def run_here(self):
        """Without a thread: nobody waits."""
        self._run()

    def wait(self):
        self._thread.join()


class JobOperator:
    """An operator with a job. Subclasses have `prepare(context)`, which gives the work or raises, `finish(context,
    result)`, and `tidy()`, which is called however it ends."""

    _job: Job | None = None
    _timer = None

    def execute(self, context):
        return self._begin(context, modal=False)

    def invoke_job(self, context):
        """As `execute`, beside the window."""
        return self._begin(context, modal=not bpy.app.background and context.window is not None)

    def _begin(self, context, modal):
        try:
            self._job = Job(self.prepare(context))
        except (meshreel.Error, OSError, RuntimeError, ValueError) as error:
            self.tidy()
            self.report({"ERROR"}, _error_text(error))
            return {"CANCELLED"}
        if not modal:
            self._job.run_here()
            return self._end(context)
        self._job.start()
        manager = context.window_manager
        self._timer = manager.event_timer_add(_TICK, window=context.window)
        manager.progress_begin(0, 100)
        manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context, event):
        if event.type == "ESC":
            self._job.cancel()
            return {"RUNNING_MODAL"}
        if event.type != "TIMER":
            return {"PASS_THROUGH"}
        if self._job.is_running():
            phase, done, total = self._job.step
            part = f" {100 * done // total} %" if total else ""
            context.window_manager.progress_update(100 * done / total if total else 0)
            context.workspace.status_text_set(f"meshreel: {phase}{part} (Esc cancels)")
            return {"RUNNING_MODAL"}
        self._leave(context)
        return self._end(context)

    def cancel(self, context):
        """Blender quits, or another file is loaded."""
        if self._job is not None:
            self._job.cancel()
            self._job.wait()
        self._leave(context)
        self.tidy()

    def _leave(self, context):
        if self._timer is not None:
            context.window_manager.event_timer_remove(self._timer)
            context.window_manager.progress_end()
            context.workspace.status_text_set(None)
            self._timer = None

    def _end(self, context):
        error = self._job.error
        try:
            if error is None:
                return self.finish(context, self._job.result)
        finally:
            self.tidy()
        if isinstance(error, meshreel.Cancelled):
            self.report({"WARNING"}, "cancelled: no file was written")
            return {"CANCELLED"}
        if not isinstance(error, Exception):
            raise error
        if not isinstance(error, (meshreel.Error, OSError)):
            traceback.print_exception(error)
        self.report({"ERROR"}, reports.message(error))
        return {"CANCELLED"}

    def tidy(self):
        """Nothing is left to do."""


def _error_text(error) -> str:
    if isinstance(error, (meshreel.Error, OSError)):
        return reports.message(error)
    return str(error).strip()
