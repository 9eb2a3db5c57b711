//! Compares every Alembic file of the corpus that a conforming reader opens with counts of the C++ library.

use meshreel_read::{ReadOptions, open};
use meshreel_scene::{NodeKind, Scene, Topology};
use std::collections::HashMap;

/// Expected and actual counts of one file, by the manifest's column names.
type Row = Vec<(&'static str, String)>;

fn measured_row(scene: &Scene) -> Row {
    let counts = scene.counts;
    let placed = scene.expand().unwrap();
    let nodes = || placed.iter().map(|p| &scene.nodes[p.node]);
    let animated =
        nodes().filter_map(|node| node.transform.as_ref()).filter(|t| !t.local.is_constant()).count();
    let (mut vertices, mut faces, mut most) = (0, 0, 0);
    let (mut points, mut counts_of_faces) = (Vec::new(), Vec::new());
    let mut classes = [0; 3];
    // The manifest counts meshes with faces.
    let meshes = nodes().filter_map(|n| n.mesh).map(|m| &scene.meshes[m]);
    for mesh in meshes.filter(|mesh| mesh.particles.is_none()) {
        mesh.positions.read(0, &mut points).unwrap();
        mesh.face_counts.read(0, &mut counts_of_faces).unwrap();
        vertices += points.len();
        faces += counts_of_faces.len();
        most = most.max(points.len());
        classes[match mesh.topology {
            Topology::Constant => 0,
            Topology::Homogeneous => 1,
            Topology::Heterogeneous => 2,
        }] += 1;
    }
    let samples = scene
        .nodes
        .iter()
        .filter(|n| matches!(n.kind, NodeKind::Xform | NodeKind::PolyMesh | NodeKind::SubD))
        .map(|n| n.samples)
        .max()
        .unwrap_or(0);
    let of = |n: usize| n.to_string();
    vec![
        ("xform(anim)", format!("{}({animated})", counts.xforms)),
        ("mesh", of(counts.meshes)),
        ("subd", of(counts.subds)),
        ("curves", of(counts.curves)),
        ("points", of(counts.points)),
        ("cam", of(counts.cameras)),
        ("faceset", of(counts.facesets)),
        ("nurbs", of(counts.nurbs)),
        ("light", of(counts.lights)),
        ("inst", of(counts.instances)),
        ("V0sum", of(vertices)),
        ("F0sum", of(faces)),
        ("maxsamples", of(samples)),
        ("topo(c/h/het)", format!("{}/{}/{}", classes[0], classes[1], classes[2])),
    ]
}

#[test]
fn counts_are_the_manifests() {
    let Some(folder) = crate::corpus::alembic() else {
        return;
    };
    let manifest = std::fs::read_to_string(folder.join("MANIFEST.tsv")).unwrap();
    let mut lines = manifest.lines();
    let columns: Vec<&str> = lines.next().unwrap().split('\t').collect();
    let mut wrong = Vec::new();
    let mut files = 0;
    for line in lines {
        let row: HashMap<&str, &str> = columns.iter().copied().zip(line.split('\t')).collect();
        let hdf5 = row["layout"] == "HDF5" && cfg!(feature = "hdf5");
        let readable = row["layout"] == "Ogawa" || hdf5;
        if row["status"] != "ok" || !readable {
            continue;
        }
        let file = row["file"];
        files += 1;
        match open(&folder.join(file), &ReadOptions::default()) {
            Err(error) => wrong.push(format!("{file}: {error}")),
            Ok((scene, _)) => {
                let of = |column, value: String| {
                    let expected = row[column];
                    (expected != value).then(|| format!("{file}: {column} {value}, not {expected}"))
                };
                wrong.extend(measured_row(&scene).into_iter().filter_map(|(c, v)| of(c, v)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(files > 40, "{files} files");
}

/// Compares with the C++ library's sum over all bits of all positions of this file, all samples.
#[test]
fn positions_are_the_librarys() {
    let Some(folder) = crate::corpus::alembic() else {
        return;
    };
    let file = folder.join("gen/a_flag_wind.abc");
    let (scene, remarks) = open(&file, &ReadOptions::default()).unwrap();
    assert!(remarks.is_empty(), "{remarks:?}");
    let mesh = &scene.meshes[0];
    let (mut sum, mut points) = (0u64, Vec::new());
    for i in 0..mesh.positions.len() {
        mesh.positions.read(i, &mut points).unwrap();
        let bits = points.iter().flatten().map(|v| u64::from(v.to_bits()));
        sum += bits.sum::<u64>();
    }
    assert_eq!(sum, 413_159_728_227_068);
    // Frames 1 to 60 at 24 per second, in seconds.
    assert!((mesh.positions.time(59) - 60.0 / 24.0).abs() < 1e-9);
    let uv = &mesh.uvs[0];
    let (mut values, mut indices) = (Vec::new(), Vec::new());
    uv.values.read(0, &mut values).unwrap();
    uv.indices.as_ref().unwrap().read(0, &mut indices).unwrap();
    assert_eq!((values.len(), indices.len()), (1454, 4800));
}
