extends Suite
## What the engine holds of the conformance set, as numbers: tests/godot.sh compares them with those of the
## sources.

const FOLDER := "res://conformance"


func test_shows_the_conformance_set() -> void:
	var files := {}
	for line in FileAccess.get_file_as_string(FOLDER + "/moments.txt").split("\n", false):
		var words := line.split(" ")
		var times := Array(words.slice(1)).map(func(word: String) -> float: return word.to_float())
		files[words[0]] = {"metres": 1.0, "moments": await moments(FOLDER + "/" + words[0], times)}
	check(files.size() > 0, "there are files")
	var out := FileAccess.open(FOLDER + "/shown.json", FileAccess.WRITE)
	out.store_string(JSON.stringify({"engine": "godot", "files": files}, "", true, true))
	check_equal(out.get_error(), OK, "shown.json is written")


func moments(file: String, times: Array) -> Array:
	var reel: ReelResource = load(file)
	if reel.frame_count == 0:
		return await moments_of_clip(reel, times)
	var node := add_player(reel, 0.0)
	await wait_ready(node)
	var out := []
	for seconds: float in times:
		if has_buffers():
			node.seek(seconds)
			await frames(2)
			# Frames are decoded by another thread.
			await get_tree().create_timer(0.15).timeout
		else:
			# An engine that keeps no buffers that are written keeps those of the first moment.
			node.free()
			node = add_player(reel, seconds)
			await wait_ready(node)
		await frames(2)
		var shown := moment(node)
		shown.seconds = seconds
		out.append(shown)
	check_equal(failures(), [] as Array[String], "errors")
	node.free()
	return out


## Adds a node that stands at a time. The materials of the file have their names.
func add_player(reel: ReelResource, start: float) -> ReelInstance3D:
	var node := add_instance("")
	node.start = start
	for named in reel.material_names:
		node.materials[named] = StandardMaterial3D.new()
		node.materials[named].resource_name = named
	node.update_materials()
	node.reel = reel
	return node


func moment(node: ReelInstance3D) -> Dictionary:
	var nodes := []
	for instance: MeshInstance3D in node.find_children("Mesh", "MeshInstance3D", true, false):
		nodes.append(shown_mesh(path_of(instance, node, node.reel.mesh_names), instance))
	var cameras := []
	for camera in node.get_cameras():
		cameras.append(shown_camera(path_of(camera, node, node.reel.get_camera_names()), camera))
	return {"nodes": nodes, "cameras": cameras}


## Returns the path in the source of what a child of a file's node shows.
func path_of(child: Node, node: ReelInstance3D, paths: PackedStringArray) -> String:
	var path := "/" + str(node.get_node("Reel").get_path_to(child.get_parent()))
	for candidate in paths:
		if candidate.ends_with(path):
			return candidate
	errors.append("%s is none of %s" % [path, paths])
	return path


func shown_mesh(path: String, instance: MeshInstance3D) -> Dictionary:
	var positions: PackedVector3Array
	var normals: PackedVector3Array
	var uvs: PackedVector2Array
	var colours: PackedColorArray
	var indices := []
	var materials := []
	var levels := []
	for surface in instance.mesh.get_surface_count():
		var arrays: Array = instance.mesh.surface_get_arrays(surface)
		if arrays[Mesh.ARRAY_INDEX] != null:
			for index: int in arrays[Mesh.ARRAY_INDEX]:
				indices.append(index + positions.size())
			var own := instance.get_active_material(surface)
			materials.append({"name": own.resource_name, "count": arrays[Mesh.ARRAY_INDEX].size()})
		positions.append_array(arrays[Mesh.ARRAY_VERTEX])
		if arrays[Mesh.ARRAY_NORMAL] != null:
			normals.append_array(arrays[Mesh.ARRAY_NORMAL])
		if arrays[Mesh.ARRAY_TEX_UV] != null:
			uvs.append_array(arrays[Mesh.ARRAY_TEX_UV])
		if arrays[Mesh.ARRAY_COLOR] != null:
			colours.append_array(arrays[Mesh.ARRAY_COLOR])
		add_levels(instance.mesh.get_rid(), surface, levels)
	return {
		"path": path, "visible": instance.is_visible_in_tree(), "world": rows(instance.global_transform),
		"positions": numbers(positions), "normals": numbers(normals), "uvs": numbers(uvs),
		"colours": numbers(colours), "indices": indices, "materials": materials, "levels": levels,
	}


## Adds the triangles of a surface to those of each level of detail.
func add_levels(mesh: RID, surface: int, levels: Array) -> void:
	var held := RenderingServer.mesh_get_surface(mesh, surface)
	var bytes := 2 if held.vertex_count <= 65536 else 4
	var own := [held.get("index_count", 0) / 3]
	for lod: Dictionary in held.get("lods", []):
		own.append(lod.index_data.size() / bytes / 3)
	for level in own.size():
		if level == levels.size():
			levels.append(0)
		levels[level] += own[level]


func shown_camera(path: String, camera: Camera3D) -> Dictionary:
	var view := camera.get_camera_transform()
	# The second number of the second column is the cotangent of half the vertical angle. The cameras of the
	# set have a picture 24 mm high.
	var focal_length := 12.0 * camera.get_camera_projection().y.y
	return {
		"path": path, "eye": list(view.origin), "forward": list(-view.basis.z), "up": list(view.basis.y),
		"right": list(view.basis.x), "focal_length": focal_length,
	}


func moments_of_clip(reel: ReelResource, times: Array) -> Array:
	var skeleton := Skeleton3D.new()
	var player := ReelClipPlayer.new()
	player.reel = reel
	player.create_bones = true
	player.playing = false
	# At the end it stays, and does not go on at the beginning.
	player.repeats = false
	skeleton.add_child(player)
	add_child(skeleton)
	await frames(2)
	check_equal(player.get_bound_bone_count(), skeleton.get_bone_count(), "bones of joints")
	var out := []
	for seconds: float in times:
		player.seek(seconds)
		await frames(2)
		var joints := []
		for bone in skeleton.get_bone_count():
			var pose := skeleton.global_transform * skeleton.get_bone_global_pose(bone)
			var axes := list(pose.basis.x) + list(pose.basis.y) + list(pose.basis.z)
			joints.append({"name": skeleton.get_bone_name(bone), "position": list(pose.origin), "axes": axes})
		out.append({"seconds": seconds, "joints": joints})
	skeleton.free()
	return out


func list(vector: Vector3) -> Array:
	return [vector.x, vector.y, vector.z]


## Returns the numbers of vectors or colours, one after the other.
func numbers(values: Variant) -> Array:
	var size: int = {TYPE_PACKED_VECTOR2_ARRAY: 2, TYPE_PACKED_VECTOR3_ARRAY: 3}.get(typeof(values), 4)
	var out := []
	for value: Variant in values:
		for component in size:
			out.append(value[component])
	return out


## Returns the three rows of a transform.
func rows(transform: Transform3D) -> Array:
	var out := []
	for row in 3:
		var b := transform.basis
		out.append_array([b.x[row], b.y[row], b.z[row], transform.origin[row]])
	return out


## Draws the cube with a picture of four colours, each in its corner, and looks at its front: a picture that
## is turned or mirrored is not the same.
func test_pictures_are_upright() -> void:
	if not has_buffers():
		skipped = "the engine has no display"
		return
	var corners: Array[Color] = [Color.RED, Color.GREEN, Color.BLUE, Color.YELLOW]
	var picture := Image.create_empty(2, 2, false, Image.FORMAT_RGB8)
	for corner in 4:
		picture.set_pixel(corner % 2, corner / 2, corners[corner])
	var material := StandardMaterial3D.new()
	material.shading_mode = BaseMaterial3D.SHADING_MODE_UNSHADED
	material.texture_filter = BaseMaterial3D.TEXTURE_FILTER_NEAREST
	material.albedo_texture = ImageTexture.create_from_image(picture)
	var node := add_instance(FOLDER + "/cube.reel")
	node.default_material = material
	await wait_ready(node)
	var camera := Camera3D.new()
	add_child(camera)
	camera.position = Vector3(0.0, 1.0, 4.0)
	camera.make_current()
	await frames(3)
	await RenderingServer.frame_post_draw
	var shot := get_viewport().get_texture().get_image()
	for corner in 4:
		var place := camera.unproject_position(Vector3(-0.9 + 1.8 * (corner % 2), 1.9 - 1.8 * (corner / 2), 1.0))
		var colour := shot.get_pixelv(Vector2i(place))
		check(colour.is_equal_approx(corners[corner]), "corner %d: %s" % [corner, colour])
