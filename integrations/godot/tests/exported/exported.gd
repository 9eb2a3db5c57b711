extends Node3D
## Plays a file and an imported source from a package, and quits with 1 if it cannot.


func _ready() -> void:
	var loaded := ProjectSettings.load_resource_pack("res://game.pck", false)
	var files: Array[String] = ["res://files/flag_small.reel"]
	if ResourceLoader.exists("res://sources/flag.abc"):
		files.append("res://sources/flag.abc")
	var passed := 0
	for file: String in files:
		var node := ReelInstance3D.new()
		node.reel = load(file)
		node.playing = true
		add_child(node)
		var end := Time.get_ticks_msec() + 15000
		while not (node.is_reel_ready() and node.time > 0.1) and Time.get_ticks_msec() < end:
			await get_tree().process_frame
		if node.has_node("Reel/FlagMesh/Mesh"):
			print("ok: exported, %s" % file)
			passed += 1
		else:
			print("FAILED: exported, %s" % file)
	print("%d passed, %d failed, 0 skipped" % [passed, files.size() - passed])
	get_tree().quit(0 if loaded and passed == files.size() else 1)
