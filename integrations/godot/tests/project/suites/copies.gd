extends Suite
## Copies of what another node plays.


func test_copies() -> void:
	var node := add_instance("res://files/robot_small.reel")
	node.hide()
	await wait_ready(node)
	var copies := ReelCopies3D.new()
	copies.source = node
	var places: Array[Transform3D] = []
	for place in 50:
		places.append(Transform3D(Basis(Vector3.UP, 0.1 * place), Vector3(place, 0.0, -place)))
	copies.transforms = places
	add_child(copies)
	await wait_until(func() -> bool: return copies.get_multimesh_count() == 10, "its nodes")
	await frames(2)
	var own: MultiMeshInstance3D = copies.get_child(0, true)
	check_equal(own.multimesh.instance_count, 50, "copies")
	check(own.multimesh.mesh == node.get_node("Reel/Cylinder/Mesh").mesh, "one mesh for all")
	await show_frame(node, 20)
	await frames(1)
	for copy: int in [0, 7, 49]:
		var wanted := places[copy] * node.get_reel_node(0).global_transform
		var found := transform_in(own.multimesh.buffer, copy)
		check(found.is_equal_approx(wanted), "copy %d: %s, not %s" % [copy, found, wanted])
	copies.transforms = [Transform3D.IDENTITY] as Array[Transform3D]
	await frames(2)
	check_equal(own.multimesh.instance_count, 1, "fewer copies")
	copies.transforms = [] as Array[Transform3D]
	await frames(2)
	check_equal(own.multimesh.instance_count, 0, "none")
	node.free()
	await frames(2)
	check_equal(copies.get_multimesh_count(), 0, "without the other node there are none")


func transform_in(buffer: PackedFloat32Array, copy: int) -> Transform3D:
	var out := Transform3D()
	for row in 3:
		for column in 3:
			out.basis[column][row] = buffer[12 * copy + 4 * row + column]
		out.origin[row] = buffer[12 * copy + 4 * row + 3]
	return out


func test_copies_of_another_node() -> void:
	var copies := ReelCopies3D.new()
	add_child(copies)
	await frames(2)
	copies.transforms = [Transform3D.IDENTITY] as Array[Transform3D]
	for file: String in ["square", "robot_small"]:
		var node := add_instance("res://files/%s.reel" % file)
		await wait_ready(node)
		copies.source = node
		await frames(2)
	check_equal(copies.get_multimesh_count(), 10, "those of the second")
	await frames(2)
	check_equal(copies.get_child_count(true), 10, "those of the first are gone")
	copies.source = null
	await frames(2)
	check_equal(copies.get_multimesh_count(), 0, "none")
