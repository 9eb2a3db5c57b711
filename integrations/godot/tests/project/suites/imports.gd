extends Suite
## Sources that the editor has imported with the program `meshreel`, when tests/godot.sh opened the project.


func test_alembic() -> void:
	if not ResourceLoader.exists("res://sources/flag.abc"):
		skipped = "the program meshreel is not there"
		return
	var reel: ReelResource = load("res://sources/flag.abc")
	check_equal(reel.frame_count, 60, "frames")
	check(reel.file.begins_with("res://.godot/imported/flag.abc-"), reel.file)
	var node := add_instance("res://sources/flag.abc")
	await wait_ready(node)
	check(node.has_node("Reel/FlagMesh/Mesh"), "its nodes")


func test_options() -> void:
	if not ResourceLoader.exists("res://sources/wall.abc"):
		skipped = "the program meshreel is not there"
		return
	var node := add_instance("res://sources/wall.abc")
	await wait_ready(node)
	var mesh: ArrayMesh = node.get_node("Reel/Joined/Mesh").mesh
	var lods: Array = RenderingServer.mesh_get_surface(mesh.get_rid(), 0).get("lods", [])
	check_equal(lods.size(), 2, "levels of detail, as the import file says")
