extends Node3D
## Runs all tests in the engine, prints what failed, and quits with 1 if anything did.

const SUITES: Array[String] = [
	"playing", "surfaces", "scenes", "copies", "clips", "trouble", "imports", "conformance"
]


func _ready() -> void:
	var failed := 0
	var passed := 0
	var skipped := 0
	for suite: String in SUITES:
		var script: GDScript = load("res://suites/%s.gd" % suite)
		for method: Dictionary in script.get_script_method_list():
			var test: String = method.name
			if not test.begins_with("test_"):
				continue
			var node: Suite = script.new()
			add_child(node)
			await node.call(test)
			if node.skipped != "":
				print("skipped: %s, %s: %s" % [suite, test, node.skipped])
				skipped += 1
			elif node.errors.is_empty():
				print("ok: %s, %s" % [suite, test])
				passed += 1
			else:
				failed += 1
				for error: String in node.errors:
					print("FAILED: %s, %s: %s" % [suite, test, error])
			node.queue_free()
			await get_tree().process_frame
	print("%d passed, %d failed, %d skipped" % [passed, failed, skipped])
	get_tree().quit(1 if failed > 0 else 0)
