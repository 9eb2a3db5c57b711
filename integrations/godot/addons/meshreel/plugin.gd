@tool
extends EditorPlugin
## Imports sources of animation as .reel files. Nodes and .reel files themselves work without this plugin.

var _importer: ReelImporter


func _enter_tree() -> void:
	_importer = ReelImporter.new()
	add_import_plugin(_importer)


func _exit_tree() -> void:
	remove_import_plugin(_importer)
	_importer = null
