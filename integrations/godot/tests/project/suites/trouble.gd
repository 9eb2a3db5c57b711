extends Suite
## Wrong and hostile input is reported with the file's name, and the last good frame stays.


func test_a_file_that_is_not_there() -> void:
	var node := add_instance("")
	node.open("res://files/none.reel")
	await frames(3)
	check_equal(signals.size(), 1, "it is reported once")
	check("res://files/none.reel" in signals[0], signals[0])
	check(load("res://files/flag_small.reel") != null, "others are loaded")


func test_damaged_files() -> void:
	var bytes := FileAccess.get_file_as_bytes("res://files/flag_small.reel")
	for length: int in [0, 10, 64, 500, bytes.size() / 2]:
		var path := "user://damaged_%d.reel" % length
		var file := FileAccess.open(path, FileAccess.WRITE)
		file.store_buffer(bytes.slice(0, length))
		file.close()
		check(load(path) == null, "%d bytes are not loaded" % length)
		signals.clear()
		var node := add_instance("")
		node.open(path)
		await wait_until(func() -> bool: return not signals.is_empty(), "%d bytes are reported" % length)
		check(signals[0].begins_with("failed") and path.get_file() in signals[0], signals[0])
		node.queue_free()


func test_damaged_frames() -> void:
	var bytes := FileAccess.get_file_as_bytes("res://files/flag_small.reel")
	for byte in range(bytes.size() - 3000, bytes.size() - 2000):
		bytes[byte] = bytes[byte] ^ 0xff
	var file := FileAccess.open("user://frames.reel", FileAccess.WRITE)
	file.store_buffer(bytes)
	file.close()
	var node := add_instance("")
	node.open("user://frames.reel")
	node.playing = true
	await wait_failed()
	check("frames.reel" in failures()[0], str(signals))
	await frames(30)
	check(is_instance_valid(node), "the game goes on")


func test_a_file_of_clips() -> void:
	var node := add_instance("res://files/layers.reel")
	await wait_until(func() -> bool: return not signals.is_empty(), "it is reported")
	check("layers.reel" in signals[0] and "ReelClipPlayer" in signals[0], signals[0])


func test_the_last_good_frame_stays() -> void:
	var path := "user://stays.reel"
	DirAccess.copy_absolute("res://files/flag_small.reel", path)
	var node := add_instance("")
	node.open(path)
	await wait_ready(node)
	check_equal(node.reel.frame_count, 38, "frames")
	var file := FileAccess.open(path + ".new", FileAccess.WRITE)
	file.store_string("no reel at all, but text")
	file.close()
	DirAccess.rename_absolute(path + ".new", path)
	await wait_failed()
	check(node.is_reel_ready() and node.get_node("Reel").visible, "what was shown stays")
	check_equal(node.reel.frame_count, 38, "and what was known")


func test_no_file_at_all() -> void:
	var node := add_instance("")
	node.play()
	node.seek(1.0)
	node.seek_frame(3)
	node.stop()
	node.update_materials()
	node.reel = ReelResource.new()
	await frames(2)
	check_equal(node.reel.frame_count, 0, "frames")
	check(signals.is_empty(), "no error")
