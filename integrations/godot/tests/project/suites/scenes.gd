extends Suite
## Nodes of files in scenes: hierarchy, materials, cameras, copies of nodes, files that are replaced.


func test_hierarchy() -> void:
	var node := add_instance("res://files/robot_small.reel")
	await wait_ready(node)
	check_equal(node.get_child_count(), 0, "children that others see")
	check(node.has_node("Reel/Cylinder/Mesh"), "a node by its name")
	check(node.has_node("Reel/Cylinder_2/Mesh"), "another of that name")
	check(node.get_reel_node(0) == node.get_node("Reel/Cylinder"), "a node by its number")
	check(node.get_reel_node(1000) == null and node.get_reel_node(-1) == null, "none of that number")
	var wanted := decoded("robot_small", 0)
	for number in wanted.nodes.size():
		var world: Array = wanted.nodes[number].world
		var own := node.get_reel_node(number).global_transform
		for row in 3:
			for column in 3:
				check_near(own.basis[column][row], world[4 * row + column], "basis of node %d" % number)
			check_near(own.origin[row], world[4 * row + 3], "place of node %d" % number)
	var instances := node.find_children("Mesh", "", true, false)
	check_equal(instances[0].mesh, instances[1].mesh, "one mesh for all")


func test_nodes_move() -> void:
	var node := add_instance("res://files/robot_small.reel")
	await wait_ready(node)
	await show_frame(node, 20)
	var world: Array = decoded("robot_small", 20).nodes[0].world
	check_near(node.get_reel_node(0).global_position.x, world[3], "x")
	check_near(node.get_reel_node(0).global_position.y, world[7], "y")
	check_near(node.get_reel_node(0).global_position.z, world[11], "z")


func test_materials() -> void:
	var node := add_instance("res://files/wall_small.reel")
	var inside := StandardMaterial3D.new()
	var others := StandardMaterial3D.new()
	node.materials = {"inside": inside} as Dictionary[String, Material]
	await wait_ready(node)
	var mesh: ArrayMesh = node.get_node("Reel/Joined/Mesh").mesh
	check(mesh.surface_get_material(0) == inside, "by name")
	check(mesh.surface_get_material(1) is StandardMaterial3D, "a plain one")
	node.default_material = others
	check(mesh.surface_get_material(0) == inside, "by name")
	check(mesh.surface_get_material(1) == others, "that of others")
	node.materials["outside"] = inside
	node.update_materials()
	check(mesh.surface_get_material(1) == inside, "added later")
	node.materials = {} as Dictionary[String, Material]
	node.default_material = null
	check(mesh.surface_get_material(0) != inside, "none")


func test_cameras() -> void:
	if not FileAccess.file_exists("res://files/scene.reel"):
		skipped = "the program meshreel is not there"
		return
	var node := add_instance("res://files/scene.reel")
	await wait_ready(node)
	var cameras := node.get_cameras()
	check_equal(cameras.size(), 1, "cameras")
	check_equal(cameras[0].projection, Camera3D.PROJECTION_PERSPECTIVE, "projection")
	check(cameras[0].fov > 5.0 and cameras[0].fov < 120.0, "angle: %f" % cameras[0].fov)
	check(cameras[0].near < cameras[0].far, "distances")
	cameras[0].make_current()
	check(get_viewport().get_camera_3d() == cameras[0], "it is looked through")
	node.playing = true
	await frames(5)


func test_it_leaves_and_enters_the_tree() -> void:
	var node := add_instance("res://files/flag_small.reel")
	await wait_ready(node)
	node.seek(0.9)
	await frames(2)
	remove_child(node)
	check(not node.is_reel_ready(), "its nodes are gone")
	check_near(node.time, 0.9, "its time is kept")
	add_child(node)
	await wait_ready(node)
	check_near(node.time, 0.9, "it goes on there")


func test_duplicates_and_scenes() -> void:
	var node := add_instance("res://files/flag_small.reel")
	node.playing = true
	await wait_ready(node)
	var other: ReelInstance3D = node.duplicate()
	add_child(other)
	await wait_ready(other)
	check_equal(other.get_child_count(true), 1, "one set of nodes")
	check(other.reel == node.reel and other.playing, "its properties")
	var scene := PackedScene.new()
	check_equal(scene.pack(node), OK, "packed")
	check_equal(scene.get_state().get_node_count(), 1, "nodes of files are not saved")
	var names: Array[String] = []
	for property in scene.get_state().get_node_property_count(0):
		names.append(scene.get_state().get_node_property_name(0, property))
	check("reel" in names and "playing" in names and not "time" in names, "what is saved: %s" % [names])


func test_nodes_may_be_freed() -> void:
	var node := add_instance("res://files/robot_small.reel")
	node.playing = true
	await wait_ready(node)
	node.get_node("Reel/Cylinder").free()
	node.get_node("Reel/Cylinder_2/Mesh").free()
	await frames(3)
	check(node.get_reel_node(0) == null, "it is gone")
	node.get_node("Reel").free()
	await frames(3)
	node.default_material = StandardMaterial3D.new()
	node.reel = null
	await frames(2)
	check(not node.is_reel_ready(), "without a file there is nothing")
	check(failures().is_empty(), "no error")


func test_hidden_files_are_not_decoded() -> void:
	var node := add_instance("res://files/flag_small.reel")
	await wait_ready(node)
	node.hide()
	node.rate = 0.1
	node.playing = true
	await frames(5)
	var time := node.time
	check(time > 0.0, "its time passes")
	node.show()
	await frames(5)
	check(node.time > time, "it goes on")


func test_a_file_that_is_replaced() -> void:
	var path := "user://replaced.reel"
	DirAccess.copy_absolute("res://files/flag_small.reel", path)
	var node := add_instance("")
	node.open(path)
	await wait_ready(node)
	check_equal(node.reel.frame_count, 38, "frames")
	DirAccess.copy_absolute("res://files/square.reel", path + ".new")
	DirAccess.rename_absolute(path + ".new", path)
	await wait_until(func() -> bool: return signals.count("ready") == 2, "the new file")
	check_equal(signals, ["ready", "replaced", "ready"] as Array[String], "signals")
	check(node.has_node("Reel/square"), "its nodes")
	check_equal(node.reel.frame_count, 3, "its frames")


func test_a_resource_that_names_another_file() -> void:
	var reel := ReelResource.new()
	reel.file = "res://files/flag_small.reel"
	var node := add_instance("")
	node.reel = reel
	await wait_ready(node)
	reel.file = "res://files/square.reel"
	await wait_until(func() -> bool: return node.has_node("Reel/square"), "the other file")
	check_equal(reel.frame_count, 3, "its frames")


func test_packages() -> void:
	var packer := PCKPacker.new()
	packer.pck_start("user://package.pck")
	packer.add_file("res://packed/flag.reel", "res://files/flag_small.reel")
	packer.flush()
	check(ProjectSettings.load_resource_pack("user://package.pck"), "the package is there")
	var node := add_instance("res://packed/flag.reel")
	node.playing = true
	await wait_ready(node)
	check_equal(node.reel.frame_count, 38, "frames")
	await frames(5)
	check(node.time > 0.0, "it plays")
	var mesh: ArrayMesh = node.get_node("Reel/FlagMesh/Mesh").mesh
	check_equal(mesh.surface_get_array_len(0), 1271, "vertices")


func test_loading_on_a_thread() -> void:
	var path := "res://files/flag_wide.reel"
	ResourceLoader.load_threaded_request(path)
	await wait_until(
		func() -> bool:
			var status := ResourceLoader.load_threaded_get_status(path)
			return status != ResourceLoader.THREAD_LOAD_IN_PROGRESS,
		"the resource"
	)
	var reel: ReelResource = ResourceLoader.load_threaded_get(path)
	check(reel != null and reel.frame_count > 0, "frames")
	var node := add_instance("")
	node.reel = reel
	await wait_ready(node)


func test_a_script_with_methods_of_the_same_names() -> void:
	var node: ReelInstance3D = load("res://suites/scripted.gd").new()
	node.reel = load("res://files/flag_small.reel")
	node.playing = true
	add_child(node)
	await wait_ready(node)
	await frames(3)
	check(node.time > 0.0, "it plays")
	check(node.calls > 0, "its own method is called as well")
