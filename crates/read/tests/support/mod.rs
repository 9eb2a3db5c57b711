//! A glTF evaluator for exactly the features that the writer uses, written from the specification.

use glam::{DMat4, DQuat, DVec3};
use serde_json::Value;
use std::path::Path;

/// An opened `.glb`.
pub struct Glb {
    /// The document.
    pub json: Value,
    binary: Vec<u8>,
}

fn number(value: &Value, key: &str) -> usize {
    value.get(key).and_then(Value::as_u64).unwrap_or(0) as usize
}

impl Glb {
    /// Opens a file and checks its chunks.
    pub fn open(path: &Path) -> Glb {
        let bytes = std::fs::read(path).unwrap();
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        assert_eq!((&bytes[..4], word(4), word(8)), (&b"glTF"[..], 2, bytes.len()));
        assert_eq!(&bytes[16..20], b"JSON");
        let json_end = 20 + word(12);
        assert!(json_end.is_multiple_of(4));
        let json = serde_json::from_slice(&bytes[20..json_end]).unwrap();
        let binary = if json_end == bytes.len() {
            Vec::new()
        } else {
            assert_eq!(&bytes[json_end + 4..json_end + 8], b"BIN\0");
            assert_eq!(bytes.len(), json_end + 8 + word(json_end));
            bytes[json_end + 8..].to_vec()
        };
        Glb { json, binary }
    }

    fn view(&self, view: usize, size: usize, at: usize) -> &[u8] {
        let view = &self.json["bufferViews"][view];
        let start = number(view, "byteOffset") + at * size;
        assert!((at + 1) * size <= number(view, "byteLength"));
        &self.binary[start..start + size]
    }

    /// Returns the numbers of an accessor, `width` per element.
    fn read(&self, accessor: usize) -> (Vec<f64>, usize) {
        let accessor = &self.json["accessors"][accessor];
        let width = match accessor["type"].as_str().unwrap() {
            "SCALAR" => 1,
            "VEC2" => 2,
            "VEC3" => 3,
            "VEC4" => 4,
            "MAT4" => 16,
            other => panic!("{other}"),
        };
        let component = number(accessor, "componentType");
        let size = match component {
            5121 => 1,
            5123 => 2,
            _ => 4,
        };
        let value = |b: &[u8]| match component {
            5121 => f64::from(b[0]),
            5123 => f64::from(u16::from_le_bytes(b.try_into().unwrap())),
            5125 => f64::from(u32::from_le_bytes(b.try_into().unwrap())),
            5126 => f64::from(f32::from_le_bytes(b.try_into().unwrap())),
            other => panic!("{other}"),
        };
        let count = number(accessor, "count");
        let mut out = vec![0.0; count * width];
        if let Some(view) = accessor.get("bufferView") {
            let view = view.as_u64().unwrap() as usize;
            out.iter_mut().enumerate().for_each(|(i, v)| *v = value(self.view(view, size, i)));
        }
        if let Some(sparse) = accessor.get("sparse") {
            let (indices, values) = (&sparse["indices"], &sparse["values"]);
            for i in 0..number(sparse, "count") {
                let wide = if number(indices, "componentType") == 5123 { 2 } else { 4 };
                let bytes = self.view(number(indices, "bufferView"), wide, i);
                let at = bytes.iter().rev().fold(0, |all, b| all << 8 | usize::from(*b));
                for k in 0..width {
                    out[at * width + k] = value(self.view(number(values, "bufferView"), size, i * width + k));
                }
            }
        }
        (out, width)
    }

    /// Returns an animated property of a node; `None` if it is not animated.
    fn animated(&self, node: usize, path: &str, time: f32) -> Option<Vec<f64>> {
        let animation = self.json.get("animations")?.get(0)?;
        let channel = animation["channels"]
            .as_array()?
            .iter()
            .find(|c| number(&c["target"], "node") == node && c["target"]["path"] == path)?;
        let sampler = &animation["samplers"][number(channel, "sampler")];
        let keys = self.read(number(sampler, "input")).0;
        let values = self.read(number(sampler, "output")).0;
        let width = values.len() / keys.len();
        let at = |key: usize| values[key * width..(key + 1) * width].to_vec();
        let key = keys.partition_point(|k| *k <= f64::from(time)).max(1) - 1;
        if sampler["interpolation"] == "STEP" || key + 1 == keys.len() || f64::from(time) <= keys[key] {
            return Some(at(key));
        }
        let f = (f64::from(time) - keys[key]) / (keys[key + 1] - keys[key]);
        if path == "rotation" {
            let rotation = |key| DQuat::from_slice(&at(key)).normalize();
            return Some(rotation(key).slerp(rotation(key + 1), f).to_array().to_vec());
        }
        Some(at(key).iter().zip(at(key + 1)).map(|(a, b)| a + (b - a) * f).collect())
    }

    fn local(&self, node: usize, time: f32) -> DMat4 {
        let get = |path: &str, default: &[f64]| {
            let own = self.json["nodes"][node]
                .get(path)
                .map(|v| v.as_array().unwrap().iter().map(|n| n.as_f64().unwrap()).collect());
            self.animated(node, path, time).or(own).unwrap_or(default.to_vec())
        };
        let (t, r, s) =
            (get("translation", &[0.0; 3]), get("rotation", &[0.0, 0.0, 0.0, 1.0]), get("scale", &[1.0; 3]));
        DMat4::from_scale_rotation_translation(
            DVec3::new(s[0], s[1], s[2]),
            DQuat::from_xyzw(r[0], r[1], r[2], r[3]).normalize(),
            DVec3::new(t[0], t[1], t[2]),
        )
    }

    /// Returns the world matrices of all nodes of the scene.
    fn world(&self, time: f32) -> Vec<DMat4> {
        let mut out = vec![DMat4::IDENTITY; self.json["nodes"].as_array().unwrap().len()];
        let list = |v: &Value| -> Vec<usize> {
            let list = v.as_array().into_iter().flatten();
            list.map(|n| n.as_u64().unwrap() as usize).collect()
        };
        let roots = list(&self.json["scenes"][0]["nodes"]);
        let mut stack: Vec<_> = roots.iter().map(|r| (*r, DMat4::IDENTITY)).collect();
        while let Some((node, parent)) = stack.pop() {
            out[node] = parent * self.local(node, time);
            let children = list(&self.json["nodes"][node]["children"]);
            stack.extend(children.iter().map(|c| (*c, out[node])));
        }
        out
    }

    /// Returns the matrix of each joint of a skin: world · inverse bind.
    fn skin(&self, skin: usize, time: f32) -> Vec<DMat4> {
        let (skin, world) = (&self.json["skins"][skin], self.world(time));
        let inverse = skin.get("inverseBindMatrices").map(|a| self.read(a.as_u64().unwrap() as usize).0);
        let joints = skin["joints"].as_array().unwrap().iter().enumerate();
        joints
            .map(|(i, joint)| {
                let inverse = inverse
                    .as_ref()
                    .map_or(DMat4::IDENTITY, |all| DMat4::from_cols_slice(&all[16 * i..16 * i + 16]));
                world[joint.as_u64().unwrap() as usize] * inverse
            })
            .collect()
    }

    /// Returns all triangles in world space at a time, without those hidden by a scale of 0.
    pub fn triangles(&self, time: f32) -> Vec<[DVec3; 3]> {
        let mut out = Vec::new();
        let mut stack: Vec<(usize, DMat4)> = Vec::new();
        for root in self.json["scenes"][0]["nodes"].as_array().unwrap() {
            stack.push((root.as_u64().unwrap() as usize, DMat4::IDENTITY));
        }
        while let Some((node, parent)) = stack.pop() {
            let matrix = parent * self.local(node, time);
            let json = &self.json["nodes"][node];
            for child in json.get("children").and_then(Value::as_array).into_iter().flatten() {
                stack.push((child.as_u64().unwrap() as usize, matrix));
            }
            if json.get("mesh").is_some() && matrix.x_axis.length() > 0.0 {
                let weights = self.animated(node, "weights", time).unwrap_or_default();
                let skin = json.get("skin").map(|s| self.skin(s.as_u64().unwrap() as usize, time));
                self.mesh(number(json, "mesh"), &weights, &matrix, skin.as_deref(), &mut out);
            }
        }
        out
    }

    fn mesh(
        &self,
        mesh: usize,
        weights: &[f64],
        matrix: &DMat4,
        skin: Option<&[DMat4]>,
        out: &mut Vec<[DVec3; 3]>,
    ) {
        for primitive in self.json["meshes"][mesh]["primitives"].as_array().unwrap() {
            let Some(indices) = primitive.get("indices") else {
                continue;
            };
            let (mut positions, _) = self.read(number(&primitive["attributes"], "POSITION"));
            let targets = primitive.get("targets").and_then(Value::as_array);
            assert_eq!(targets.map_or(0, Vec::len), weights.len());
            for (target, weight) in targets.into_iter().flatten().zip(weights).filter(|t| *t.1 != 0.0) {
                let deltas = self.read(number(target, "POSITION")).0;
                positions.iter_mut().zip(deltas).for_each(|(p, d)| *p += weight * d);
            }
            let bound = skin.map(|skin| {
                let read = |name: &str| self.read(number(&primitive["attributes"], name)).0;
                (skin, read("JOINTS_0"), read("WEIGHTS_0"))
            });
            let point = |i: f64| {
                let i = i as usize;
                let p = DVec3::from_slice(&positions[i * 3..]);
                match &bound {
                    None => matrix.transform_point3(p),
                    Some((skin, joints, weights)) => (4 * i..4 * i + 4)
                        .map(|k| skin[joints[k] as usize].transform_point3(p) * weights[k])
                        .sum(),
                }
            };
            let indices = self.read(indices.as_u64().unwrap() as usize).0;
            out.extend(indices.chunks_exact(3).map(|t| [point(t[0]), point(t[1]), point(t[2])]));
        }
    }
}
