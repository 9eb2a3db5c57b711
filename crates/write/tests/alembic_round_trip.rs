//! Writes every Alembic file of the corpus with our writer and reads it back.

use meshreel_read::{ReadOptions, open};
use meshreel_scene::{Node, NodeKind, Scene};
use meshreel_write::alembic::write;

/// Returns a scene of the nodes that the writer keeps: meshes, points, curves, cameras and transforms.
fn writable_part(scene: &Scene) -> Scene {
    let is_mesh = |n: &Node| matches!(n.kind, NodeKind::Xform | NodeKind::PolyMesh | NodeKind::SubD);
    let content = |n: &Node| is_mesh(n) || n.mesh.is_some() || n.camera.is_some();
    let mut keep: Vec<bool> = scene.nodes.iter().map(content).collect();
    for id in (0..keep.len()).rev() {
        if let (true, Some(parent)) = (keep[id], scene.nodes[id].parent) {
            keep[parent] = true;
        }
    }
    let mut numbers = vec![0; keep.len()];
    for (next, id) in (0..keep.len()).filter(|&id| keep[id]).enumerate() {
        numbers[id] = next;
    }
    let mut kept = scene.clone();
    kept.nodes = (0..keep.len())
        .filter(|id| keep[*id])
        .map(|id| {
            let node = scene.nodes[id].clone();
            Node {
                kind: if content(&node) { node.kind } else { NodeKind::Xform },
                parent: node.parent.map(|p| numbers[p]),
                instance_of: node.instance_of.map(|t| numbers[t]),
                ..node
            }
        })
        .collect();
    kept
}

#[test]
fn what_is_written_reads_the_same() {
    let Some(folder) = crate::corpus::alembic() else {
        return;
    };
    let manifest = std::fs::read_to_string(folder.join("MANIFEST.tsv")).unwrap();
    let target = tempfile::tempdir().unwrap();
    let keep = std::env::var_os("MESHREEL_KEEP").map(std::path::PathBuf::from);
    let mut wrong = Vec::new();
    let mut files = 0;
    for line in manifest.lines().skip(1) {
        let columns: Vec<&str> = line.split('\t').collect();
        let (file, layout, status) = (columns[0], columns[3], columns[6]);
        if status != "ok" || !["Ogawa", "HDF5"].contains(&layout) {
            continue;
        }
        let (scene, _) = open(&folder.join(file), &ReadOptions::default()).unwrap();
        files += 1;
        let path = target.path().join(file.replace('/', "-"));
        write(&path, &scene, &mut |_, _| {}).unwrap();
        if let Some(keep) = &keep {
            std::fs::copy(&path, keep.join(path.file_name().unwrap())).unwrap();
        }
        let (again, remarks) = open(&path, &ReadOptions::default()).unwrap();
        if !remarks.is_empty() && remarks.iter().any(|r| r.what.contains("damage")) {
            wrong.push(format!("{file}: {remarks:?}"));
        }
        let difference = crate::difference::scenes(&writable_part(&scene), &again, true);
        wrong.extend(difference.found.into_iter().map(|d| format!("{file}: {d}")));
        if scene.fps != again.fps {
            wrong.push(format!("{file}: rate"));
        }
        // The same scene gives the same bytes, and so does the scene that was read back.
        let bytes = std::fs::read(&path).unwrap();
        write(&path, &again, &mut |_, _| {}).unwrap();
        if std::fs::read(&path).unwrap() != bytes {
            wrong.push(format!("{file}: written again, it is another file"));
        }
        std::fs::remove_file(&path).unwrap();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(files > 40, "{files} files");
    assert_eq!(std::fs::read_dir(target.path()).unwrap().count(), 0);
}
