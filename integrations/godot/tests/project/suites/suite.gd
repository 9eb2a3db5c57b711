class_name Suite
extends Node3D
## What all suites of tests have in common.

var errors: Array[String] = []
## The reason for which a test was not run.
var skipped := ""
var signals: Array[String] = []


## Notes an error unless something holds.
func check(holds: bool, what: String) -> void:
	if not holds:
		errors.append(what)


func check_equal(value: Variant, wanted: Variant, what: String) -> void:
	if value != wanted:
		errors.append("%s: %s, not %s" % [what, value, wanted])


func check_near(value: float, wanted: float, what: String, most := 1e-5) -> void:
	if not absf(value - wanted) <= most * maxf(1.0, absf(wanted)):
		errors.append("%s: %s, not %s" % [what, value, wanted])


## Adds a node that plays a file; what it emits is noted in `signals`.
func add_instance(file: String) -> ReelInstance3D:
	var node := ReelInstance3D.new()
	node.reel_ready.connect(func() -> void: signals.append("ready"))
	node.ended.connect(func() -> void: signals.append("ended"))
	node.failed.connect(func(message: String) -> void: signals.append("failed " + message))
	node.replaced.connect(func() -> void: signals.append("replaced"))
	if file != "":
		node.reel = load(file)
	add_child(node)
	return node


## Waits until a condition holds, for at most some seconds.
func wait_until(holds: Callable, what: String, seconds := 60.0) -> bool:
	var end := Time.get_ticks_msec() + 1000.0 * seconds
	while not holds.call():
		if Time.get_ticks_msec() > end:
			errors.append("waited in vain: " + what)
			return false
		await get_tree().process_frame
	return true


## Returns the messages of the signal `failed` so far.
func failures() -> Array[String]:
	return signals.filter(func(name: String) -> bool: return name.begins_with("failed"))


func wait_failed() -> bool:
	return await wait_until(func() -> bool: return not failures().is_empty(), "an error is reported")


func wait_ready(node: ReelInstance3D) -> bool:
	return await wait_until(node.is_reel_ready, "the first frame")


## Jumps to a frame, and waits until it is decoded and written.
func show_frame(node: ReelInstance3D, frame: int) -> void:
	node.interpolate = false
	node.seek_frame(frame)
	await frames(1)
	await wait_until(func() -> bool: return node.get_frame() == frame, "frame %d" % frame)
	await frames(1)


func frames(count: int) -> void:
	for frame in count:
		await get_tree().process_frame


## Returns the numbers of the decoder, which tests/godot.sh has written.
func decoded(file: String, frame: int) -> Dictionary:
	var text := FileAccess.get_file_as_string("res://decoded/%s_%d.json" % [file, frame])
	return JSON.parse_string(text)


## `true` if the engine keeps the buffers that are written, which it does not without a display.
func has_buffers() -> bool:
	return DisplayServer.get_name() != "headless"
