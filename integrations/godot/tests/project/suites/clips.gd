extends Suite
## Clips on skeletons.

const FILE := "res://files/layers.reel"


func add_player(skeleton: Skeleton3D) -> ReelClipPlayer:
	var player := ReelClipPlayer.new()
	player.ended.connect(func() -> void: signals.append("ended"))
	player.failed.connect(func(message: String) -> void: signals.append("failed " + message))
	player.reel = load(FILE)
	skeleton.add_child(player)
	add_child(skeleton)
	return player


func check_pose(skeleton: Skeleton3D, clip: Dictionary, what: String) -> void:
	for joint: Dictionary in clip.joints:
		var bone := skeleton.find_bone(joint.name)
		if bone < 0:
			errors.append("%s: no bone %s" % [what, joint.name])
			continue
		var place := skeleton.get_bone_pose_position(bone)
		var turn := skeleton.get_bone_pose_rotation(bone)
		for axis in 3:
			# The file is in centimetres.
			check_near(place[axis], 0.01 * joint.translation[axis], "%s: place of %s" % [what, joint.name])
		check_turn(turn, joint.rotation, "%s: turn of %s" % [what, joint.name])


func check_turn(turn: Quaternion, wanted: Array, what: String) -> void:
	check(turn.is_equal_approx(Quaternion(wanted[0], wanted[1], wanted[2], wanted[3])), "%s: %s" % [what, turn])


func test_bones_of_the_file() -> void:
	var skeleton := Skeleton3D.new()
	var player := add_player(skeleton)
	player.create_bones = true
	player.playing = false
	await frames(2)
	var wanted := decoded("layers", 0)
	check_equal(skeleton.get_bone_count(), 9, "bones")
	check_equal(player.get_bound_bone_count(), 9, "bones of joints")
	check_equal(player.get_current_clip(), "walk", "the first clip")
	check_near(player.get_duration(), 299.0 / 30.0, "its length")
	player.seek(wanted.clips[0].seconds)
	await frames(1)
	check_pose(skeleton, wanted.clips[0], "walk")
	check(player.play("run"), "another clip")
	player.playing = false
	player.time = wanted.clips[1].seconds
	await frames(1)
	check_pose(skeleton, wanted.clips[1], "run")
	check_equal(player.clip, "run", "its name")


func test_bones_by_name() -> void:
	var skeleton := Skeleton3D.new()
	var names: Array = decoded("layers", 0).clips[0].joints.map(func(joint: Dictionary) -> String: return joint.name)
	skeleton.add_bone("something else")
	skeleton.add_bone(names[3])
	var player := add_player(skeleton)
	await frames(2)
	check_equal(player.get_bound_bone_count(), 1, "bones of joints")
	check_equal(skeleton.get_bone_pose_position(0), Vector3.ZERO, "another bone stays")
	skeleton.add_bone(names[0])
	await frames(2)
	check_equal(player.get_bound_bone_count(), 2, "a bone that was added later")


func test_fades() -> void:
	var skeleton := Skeleton3D.new()
	var player := add_player(skeleton)
	player.create_bones = true
	player.playing = false
	await frames(2)
	var before := skeleton.get_bone_pose_rotation(3)
	check(player.play("run", 0.3), "it fades")
	player.playing = false
	await frames(1)
	var between := skeleton.get_bone_pose_rotation(3)
	await get_tree().create_timer(0.4).timeout
	await frames(1)
	var after := skeleton.get_bone_pose_rotation(3)
	check(before.angle_to(after) > 0.01, "the clips differ")
	check(between.angle_to(before) < after.angle_to(before) + 1e-4, "it begins near the first")


func test_ends() -> void:
	var skeleton := Skeleton3D.new()
	var player := add_player(skeleton)
	player.create_bones = true
	player.repeats = false
	player.rate = 20.0
	await wait_until(func() -> bool: return "ended" in signals, "the end")
	check_equal(signals, ["ended"] as Array[String], "signals")
	check_near(player.time, 299.0 / 30.0, "the time of the end")
	player.rate = 0.1
	player.repeats = true
	player.clip = "run"
	await frames(3)
	check(player.time > 0.0 and player.time < 1.0, "another clip from its beginning: %f" % player.time)


func test_trouble() -> void:
	var skeleton := Skeleton3D.new()
	var player := add_player(skeleton)
	player.create_bones = true
	await frames(2)
	check(not player.play("swim", 0.5), "there is no such clip")
	check("layers.reel" in signals.back() and "swim" in signals.back(), signals.back())
	check_equal(player.get_current_clip(), "walk", "the one before goes on")
	player.clip = "swim"
	check_equal(player.clip, "", "nor can it be set")
	signals.clear()
	player.reel = load("res://files/square.reel")
	await frames(3)
	check_equal(signals.size(), 1, "a file without clips is reported once")
	player.reel = load(FILE)
	await frames(2)
	check_equal(player.get_current_clip(), "walk", "with another file it works again")
	skeleton.remove_child(player)
	player.skeleton = NodePath("nowhere")
	add_child(player)
	await frames(2)
	check_equal(player.get_bound_bone_count(), 0, "without a skeleton it waits")
	skeleton.queue_free()


func test_a_character() -> void:
	if not FileAccess.file_exists("res://files/beam.reel"):
		skipped = "the program meshreel is not there"
		return
	var document := GLTFDocument.new()
	var state := GLTFState.new()
	check_equal(document.append_from_file("res://files/beam_scene.bin", state), OK, "the scene")
	var scene := document.generate_scene(state)
	add_child(scene)
	var skeleton: Skeleton3D = scene.find_children("*", "Skeleton3D", true, false)[0]
	var player := ReelClipPlayer.new()
	player.reel = load("res://files/beam.reel")
	player.skeleton = NodePath("..")
	player.playing = false
	skeleton.add_child(player)
	await frames(2)
	check_equal(player.get_bound_bone_count(), skeleton.get_bone_count(), "all its bones")
	var wanted := decoded("beam", 0)
	player.time = wanted.clips[0].seconds
	await frames(1)
	for joint: Dictionary in wanted.clips[0].joints:
		var turn := skeleton.get_bone_pose_rotation(skeleton.find_bone(joint.name))
		check_turn(turn, joint.rotation, "turn of %s" % joint.name)
