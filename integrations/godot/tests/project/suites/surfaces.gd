extends Suite
## The numbers in the engine's buffers are those of the decoder.


## Compares the surfaces of a mesh with a frame of the decoder; returns the number of vertices that were compared.
func compare(mesh: ArrayMesh, wanted: Dictionary, what: String) -> int:
	var surface := 0
	var compared := 0
	for material: Dictionary in wanted.materials:
		var indices: Array = material.indices
		if indices.is_empty():
			continue
		if surface >= mesh.get_surface_count():
			errors.append(what + ": a surface is missing")
			return compared
		var arrays := mesh.surface_get_arrays(surface)
		var first: int = 0 if mesh.get_surface_count() == 1 else int(indices.min())
		var own: PackedInt32Array = arrays[Mesh.ARRAY_INDEX]
		check_equal(own.size(), indices.size(), what + ": indices")
		var turned := true
		for corner in range(0, own.size(), 3):
			# Clockwise: the second and third corner change places.
			turned = turned and own[corner] + first == int(indices[corner])
			turned = turned and own[corner + 1] + first == int(indices[corner + 2])
			turned = turned and own[corner + 2] + first == int(indices[corner + 1])
		check(turned, what + ": triangles")
		var positions: PackedVector3Array = arrays[Mesh.ARRAY_VERTEX]
		var normals: PackedVector3Array = arrays[Mesh.ARRAY_NORMAL]
		var furthest := 0.0
		var angle := 0.0
		for vertex in positions.size():
			furthest = maxf(furthest, positions[vertex].distance_to(vector(wanted.positions, first + vertex)))
			if not wanted.normals.is_empty():
				angle = maxf(angle, normals[vertex].angle_to(vector(wanted.normals, first + vertex)))
		check(furthest < 1e-5, "%s: positions, %f" % [what, furthest])
		check(angle < 0.001, "%s: normals, %f" % [what, angle])
		compared += positions.size()
		surface += 1
	check_equal(mesh.get_surface_count(), surface, what + ": surfaces")
	return compared


func vector(values: Array, index: int) -> Vector3:
	return Vector3(values[3 * index], values[3 * index + 1], values[3 * index + 2])


func test_first_frame() -> void:
	var node := add_instance("res://files/wall_small.reel")
	await wait_ready(node)
	var mesh: ArrayMesh = node.get_node("Reel/Joined/Mesh").mesh
	var compared := compare(mesh, decoded("wall_small", 0).meshes[0], "wall")
	check(compared > 15000, "%d vertices" % compared)


func test_other_frames_of_fixed_faces() -> void:
	if not has_buffers():
		skipped = "the engine has no display, and keeps no buffers"
		return
	for file: String in ["flag_small", "wall_small", "snake_small"]:
		var node := add_instance("res://files/%s.reel" % file)
		await wait_ready(node)
		var instance: MeshInstance3D = node.find_children("Mesh", "MeshInstance3D", true, false)[0]
		for frame: int in [12, 37, 5]:
			await show_frame(node, frame)
			compare(instance.mesh, decoded(file, frame).meshes[0], "%s %d" % [file, frame])
		node.queue_free()


func test_faces_that_change() -> void:
	var node := add_instance("res://files/everything_zstd.reel")
	await wait_ready(node)
	for frame: int in [0, 3, 7]:
		await show_frame(node, frame)
		var wanted := decoded("everything_zstd", frame)
		for number in wanted.meshes.size():
			var mesh_name: String = wanted.meshes[number].path.get_file()
			if mesh_name == "water" and not wanted.meshes[number].positions.is_empty():
				var instance: MeshInstance3D = node.find_child("water", true, false).get_node("Mesh")
				compare(instance.mesh, wanted.meshes[number], "water %d" % frame)


func test_layout_is_what_the_engine_says() -> void:
	var node := add_instance("res://files/flag_small.reel")
	await wait_ready(node)
	var mesh: ArrayMesh = node.get_node("Reel/FlagMesh/Mesh").mesh
	var format := mesh.surface_get_format(0)
	var count := mesh.surface_get_array_len(0)
	check_equal(RenderingServer.mesh_surface_get_format_vertex_stride(format, count), 12, "positions")
	var normals := RenderingServer.mesh_surface_get_format_offset(format, count, Mesh.ARRAY_NORMAL)
	check_equal(normals, 12 * count, "normals")
	check((format & Mesh.ARRAY_FLAG_USE_DYNAMIC_UPDATE) != 0, "it can be written")
	check(mesh.custom_aabb.size.length() > 1.0, "bounds of all frames")


func test_points_and_particles() -> void:
	for file: String in ["points_fast", "chains_small", "particles_small"]:
		var node := add_instance("res://files/%s.reel" % file)
		await wait_ready(node)
		node.playing = true
		await frames(20)
		check(failures().is_empty(), file)
	var cloud: MeshInstance3D = find_child("cloud", true, false).get_node("Mesh")
	check_equal(cloud.mesh.surface_get_primitive_type(0), Mesh.PRIMITIVE_POINTS, "points")
	check_equal(cloud.mesh.surface_get_array_len(0), 150, "their number")


func test_lods() -> void:
	if not FileAccess.file_exists("res://files/wall_lods.reel"):
		skipped = "the program meshreel is not there"
		return
	var node := add_instance("res://files/wall_lods.reel")
	await wait_ready(node)
	var mesh: ArrayMesh = node.get_node("Reel/Joined/Mesh").mesh
	var lods: Array = RenderingServer.mesh_get_surface(mesh.get_rid(), 0).get("lods", [])
	check_equal(lods.size(), 3, "levels")
	check(lods[0].edge_length > 0.0, "their error")


## Draws the robot with back faces left out, then with front faces left out, and looks at the two pictures: from
## outside only front faces can be seen, which are nearer.
func test_front_faces_are_outside() -> void:
	if not has_buffers():
		skipped = "the engine has no display"
		return
	var node := add_instance("res://files/robot_small.reel")
	await wait_ready(node)
	var instance: MeshInstance3D = node.find_children("Mesh", "MeshInstance3D", true, false)[0]
	var box: AABB = instance.global_transform * instance.mesh.custom_aabb
	var camera := Camera3D.new()
	add_child(camera)
	camera.make_current()
	var away := Vector3(0.4, 0.3, 1.0).normalized() * box.size.length()
	camera.look_at_from_position(box.get_center() + away, box.get_center())
	var depths: Array[float] = []
	for cull: BaseMaterial3D.CullMode in [BaseMaterial3D.CULL_BACK, BaseMaterial3D.CULL_FRONT]:
		var material := ShaderMaterial.new()
		material.shader = Shader.new()
		material.shader.code = (
			"shader_type spatial; render_mode unshaded, %s; void fragment() { ALBEDO = vec3(-VERTEX.z / %f); }"
			% ["cull_back" if cull == BaseMaterial3D.CULL_BACK else "cull_front", 4.0 * box.size.length()]
		)
		node.default_material = material
		await frames(3)
		await RenderingServer.frame_post_draw
		var picture := get_viewport().get_texture().get_image()
		depths.append(picture.get_pixelv(picture.get_size() / 2).r)
	check(depths[0] > 0.02, "something is drawn: %s" % [depths])
	check(depths[0] < depths[1] - 0.01, "front faces are nearer than back faces: %s" % [depths])
