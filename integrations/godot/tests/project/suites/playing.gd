extends Suite
## Time: playing, jumps, ranges, keyed time, and pauses of the game.


func test_facts() -> void:
	var reel: ReelResource = load("res://files/wall_small.reel")
	check_equal(reel.frame_count, 38, "frames")
	check_near(reel.duration, 37.0 / 24.0, "duration")
	check_equal(reel.frame_rate, 24.0, "rate")
	check_equal(reel.mesh_names, PackedStringArray(["/JoinedWall/Joined"]), "meshes")
	check_equal(reel.material_names, PackedStringArray(["inside", "outside"]), "materials")
	check_equal(reel.get_unit_metres(), 1.0, "unit")
	check_equal(reel.get_range_names(), PackedStringArray(), "ranges")
	check_equal(reel.get_camera_names(), PackedStringArray(), "cameras")
	var clips: ReelResource = load("res://files/layers.reel")
	check_equal(clips.clip_names, PackedStringArray(["walk", "run"]), "clips")
	check_near(clips.get_clip_duration("walk"), 299.0 / 30.0, "length of a clip")
	check_equal(clips.get_clip_duration("swim"), 0.0, "length of a clip that is not there")
	check_equal(str(clips), "ReelResource(res://files/layers.reel)", "text")


func test_plays_to_the_end() -> void:
	var node := add_instance("res://files/flag_fast.reel")
	node.rate = 4.0
	node.play()
	await wait_until(func() -> bool: return "ended" in signals, "the end")
	check_equal(signals, ["ready", "ended"] as Array[String], "signals")
	check(node.has_ended(), "it has ended")
	await wait_until(func() -> bool: return node.get_frame() == 37, "the last frame")
	check_near(node.time, 37.0 / 24.0, "the time of the end")
	node.rate = 0.1
	node.play()
	await frames(2)
	check(not node.has_ended() and node.time < 1.5, "it starts again")


func test_stands_until_told() -> void:
	var node := add_instance("res://files/flag_small.reel")
	await wait_ready(node)
	await frames(5)
	check_equal(node.time, 0.0, "it stands")
	node.playing = true
	await frames(5)
	check(node.time > 0.0, "it plays")
	node.pause()
	await frames(1)
	var time := node.time
	await frames(5)
	check_equal(node.time, time, "it stands again")
	check(not node.playing, "the property says so")


func test_jumps() -> void:
	var node := add_instance("res://files/flag_small.reel")
	await wait_ready(node)
	node.seek(1.0)
	await frames(1)
	check_near(node.time, 1.0, "time")
	for jump: Array in [[7, 7], [-5, 0], [1000000, 37]]:
		node.seek_frame(jump[0])
		await wait_until(func() -> bool: return node.get_frame() == jump[1], "frame %d" % jump[0])
	node.seek(NAN)
	await frames(2)
	check_equal(node.get_frame(), 37, "no number")
	node.stream_at(0.2)
	node.stream_at(-1.0)
	node.reset()
	await frames(1)
	check_equal(node.time, 0.0, "reset")


func test_stop_hides() -> void:
	var node := add_instance("res://files/flag_small.reel")
	await wait_ready(node)
	node.seek(1.0)
	await frames(1)
	node.stop()
	await frames(2)
	check(not node.get_node("Reel").visible, "it is hidden")
	check_equal(node.time, 0.0, "it is at its start")
	node.play()
	await wait_until(func() -> bool: return node.get_node("Reel").visible, "it is shown again")


func test_ranges_and_repeats() -> void:
	var node := add_instance("res://files/flag_small.reel")
	node.range_begin = 0.5
	node.range_end = 0.75
	node.repeat = ReelInstance3D.REPEAT_LOOP
	node.playing = true
	await wait_ready(node)
	for frame in 60:
		await frames(1)
		check(node.time >= 0.5 - 1e-6 and node.time <= 0.75 + 1e-6, "time %f" % node.time)
	check(not "ended" in signals, "a loop does not end")
	node.repeat = ReelInstance3D.REPEAT_PING_PONG
	node.range_end = 0.0
	node.seek(1.5)
	var turned := false
	var last := 0.0
	for frame in 30:
		await frames(1)
		turned = turned or node.time < last
		last = node.time
	check(turned, "ping-pong turns")
	node.repeat = ReelInstance3D.REPEAT_ONCE
	check(not node.play_range("walk"), "there is no such range")
	check(signals.back().begins_with("failed res://files/flag_small.reel: "), "that is an error")


func test_named_ranges() -> void:
	if not FileAccess.file_exists("res://files/ranges.reel"):
		skipped = "the program meshreel is not there"
		return
	var node := add_instance("res://files/ranges.reel")
	check_equal(node.reel.get_range_names(), PackedStringArray(["bend"]), "names")
	await wait_ready(node)
	node.seek(0.7)
	await frames(1)
	check(node.play_range("bend"), "it is there")
	await frames(1)
	check(node.playing and node.time < 0.5, "it plays from its beginning: %f" % node.time)
	check_equal([node.range_begin, node.range_end], [0.0, 1.0], "the range")
	check(failures().is_empty(), "no error")


func test_start_and_rate() -> void:
	var node := ReelInstance3D.new()
	node.reel = load("res://files/flag_small.reel")
	node.start = 0.8
	node.rate = -1.0
	add_child(node)
	await wait_ready(node)
	check_near(node.time, 0.8, "it begins at its start")
	node.play()
	await frames(5)
	check(node.time < 0.8, "it plays backwards")
	node.rate = INF
	check_equal(node.rate, -1.0, "a rate without an end is refused")
	node.interpolate = false
	node.pause()
	node.seek(0.9)
	await frames(2)
	check_near(node.time, 0.9, "time")


func test_time_before_the_file_is_open() -> void:
	var node := ReelInstance3D.new()
	node.time = 0.7
	check_equal(node.time, 0.7, "it is kept")
	node.queue_free()
	node = ReelInstance3D.new()
	node.reel = load("res://files/flag_small.reel")
	node.seek(0.6)
	add_child(node)
	await wait_ready(node)
	check_near(node.time, 0.6, "it begins there")


func test_keyed_time() -> void:
	var node := add_instance("res://files/flag_small.reel")
	await wait_ready(node)
	var animation := Animation.new()
	animation.length = 1.0
	var track := animation.add_track(Animation.TYPE_VALUE)
	animation.track_set_path(track, ".:time")
	animation.track_insert_key(track, 0.0, 0.2)
	animation.track_insert_key(track, 0.5, 1.2)
	animation.track_insert_key(track, 1.0, 0.7)
	var library := AnimationLibrary.new()
	library.add_animation("move", animation)
	var player := AnimationPlayer.new()
	player.add_animation_library("", library)
	# Before the node in the tree, so that it keys the time before the node is processed.
	add_child(player)
	move_child(player, 0)
	player.root_node = player.get_path_to(node)
	player.play("move")
	var most := 0.0
	while player.is_playing():
		await frames(1)
		if player.is_playing():
			var wanted: float = animation.value_track_interpolate(track, player.current_animation_position)
			most = maxf(most, absf(node.time - wanted))
	check(most < 1e-5, "it follows the track: %f" % most)
	await frames(3)
	check_near(node.time, 0.7, "it stands where the track ends")


func test_a_paused_game_stands() -> void:
	var node := add_instance("res://files/flag_small.reel")
	var other := add_instance("res://files/flag_small.reel")
	other.process_mode = Node.PROCESS_MODE_ALWAYS
	for each: ReelInstance3D in [node, other]:
		each.repeat = ReelInstance3D.REPEAT_CYCLE
		each.rate = 0.1
		each.playing = true
		await wait_ready(each)
	process_mode = Node.PROCESS_MODE_PAUSABLE
	get_tree().paused = true
	await frames(2)
	var time := node.time
	var time_of_other := other.time
	await frames(10)
	check_equal(node.time, time, "it stands")
	check(other.time != time_of_other, "the other plays")
	get_tree().paused = false
	var passed := 0.0
	for frame in 5:
		await frames(1)
		passed += get_process_delta_time()
	check(node.time > time, "it goes on")
	check(node.time < time + 0.1 * passed + 0.05, "it goes on where it was: %f, %f" % [node.time, time])


func test_a_handler_may_change_anything() -> void:
	var node := add_instance("res://files/flag_small.reel")
	node.reel_ready.connect(
		func() -> void:
			node.seek(0.4)
			node.reel = load("res://files/square.reel"),
		CONNECT_ONE_SHOT
	)
	await wait_until(func() -> bool: return signals.count("ready") == 2, "the other file")
	check(node.has_node("Reel/square"), "its nodes")
	node.ended.connect(func() -> void: node.queue_free())
	node.play()
	await wait_until(func() -> bool: return not is_instance_valid(node), "it is freed by its own signal")


func test_statistics() -> void:
	var node := add_instance("res://files/flag_small.reel")
	node.set_priority(3)
	await wait_ready(node)
	var numbers: Dictionary = Engine.get_singleton("ReelRuntime").get_statistics()
	check_equal(numbers.heap_bytes, 128 << 20, "heap")
	check(numbers.files >= 1 and numbers.instances >= 1, "counts")
	check(numbers.heap_used_bytes > 0 and numbers.refused == 0, "use")
	check(numbers.decode_seconds >= 0.0, "seconds")
