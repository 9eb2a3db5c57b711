extends ReelInstance3D
## A node with a script that has methods which the engine calls.

var calls := 0


func _enter_tree() -> void:
	calls = 0


func _process(_delta: float) -> void:
	calls += 1


func _exit_tree() -> void:
	calls = -1
