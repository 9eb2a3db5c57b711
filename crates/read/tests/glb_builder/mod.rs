//! Builds glTF files.
#![allow(dead_code)]

use crate::walk::walk;
use meshreel_read::ReadOptions;
use meshreel_scene::{Error, Remark, Scene};
use serde_json::{Value, json};

/// A glTF file being built.
#[derive(Clone)]
pub struct GlbBuilder {
    /// The document without its buffer.
    pub json: Value,
    /// The only buffer.
    pub binary: Vec<u8>,
}

impl GlbBuilder {
    pub fn new() -> GlbBuilder {
        let list = || json!([]);
        GlbBuilder {
            json: json!({
                "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": []}], "nodes": list(), "meshes": list(),
                "accessors": list(), "bufferViews": list(), "skins": list(), "animations": list(),
            }),
            binary: Vec::new(),
        }
    }

    pub fn push(&mut self, list: &str, value: Value) -> usize {
        let list = self.json[list].as_array_mut().unwrap();
        list.push(value);
        list.len() - 1
    }

    pub fn view(&mut self, bytes: &[u8]) -> usize {
        self.binary.resize(self.binary.len().next_multiple_of(4), 0);
        let start = self.binary.len();
        self.binary.extend_from_slice(bytes);
        self.push("bufferViews", json!({"buffer": 0, "byteOffset": start, "byteLength": bytes.len()}))
    }

    pub fn accessor(&mut self, bytes: &[u8], component: u32, kind: &str, count: usize) -> usize {
        let view = self.view(bytes);
        let json = json!({"bufferView": view, "componentType": component, "type": kind, "count": count});
        self.push("accessors", json)
    }

    pub fn floats<const N: usize>(&mut self, values: &[[f32; N]]) -> usize {
        let bytes: Vec<u8> = values.iter().flatten().flat_map(|v| v.to_le_bytes()).collect();
        let kind = match N {
            1 => "SCALAR",
            2 => "VEC2",
            3 => "VEC3",
            4 => "VEC4",
            _ => "MAT4",
        };
        self.accessor(&bytes, 5126, kind, values.len())
    }

    pub fn shorts(&mut self, values: &[u16]) -> usize {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.accessor(&bytes, 5123, "SCALAR", values.len())
    }

    /// Adds a node; without a parent it is a root.
    pub fn node(&mut self, parent: Option<usize>, node: Value) -> usize {
        let n = self.push("nodes", node);
        let list = match parent {
            None => &mut self.json["scenes"][0]["nodes"],
            Some(parent) => {
                let parent = &mut self.json["nodes"][parent];
                if parent.get("children").is_none() {
                    parent["children"] = json!([]);
                }
                &mut parent["children"]
            }
        };
        list.as_array_mut().unwrap().push(json!(n));
        n
    }

    /// Adds a channel to the last animation, which is created if there is none.
    pub fn channel<const N: usize>(
        &mut self,
        node: usize,
        path: &str,
        how: &str,
        keys: &[f32],
        values: &[[f32; N]],
    ) {
        let keys: Vec<[f32; 1]> = keys.iter().map(|k| [*k]).collect();
        let (input, output) = (self.floats(&keys), self.floats(values));
        if self.json["animations"].as_array().unwrap().is_empty() {
            self.push("animations", json!({"name": "act", "channels": [], "samplers": []}));
        }
        let list = self.json["animations"].as_array_mut().unwrap();
        let animation = list.last_mut().unwrap();
        let samplers = animation["samplers"].as_array_mut().unwrap();
        samplers.push(json!({"input": input, "output": output, "interpolation": how}));
        let sampler = samplers.len() - 1;
        let channels = animation["channels"].as_array_mut().unwrap();
        channels.push(json!({"sampler": sampler, "target": {"node": node, "path": path}}));
    }

    pub fn finished(&self) -> Value {
        let mut json = self.json.clone();
        json["buffers"] = json!([{"byteLength": self.binary.len()}]);
        for list in ["meshes", "accessors", "bufferViews", "skins", "animations"] {
            if json[list].as_array().is_some_and(|l| l.is_empty()) {
                json.as_object_mut().unwrap().remove(list);
            }
        }
        if self.binary.is_empty() {
            json.as_object_mut().unwrap().remove("buffers");
        }
        json
    }

    pub fn glb(&self) -> Vec<u8> {
        glb(&self.finished(), &self.binary)
    }

    pub fn open(&self) -> Result<(Scene, Vec<Remark>), Error> {
        open_bytes(&self.glb())
    }

    /// Adds a skin of these joints.
    pub fn skin(&mut self, joints: &[usize]) -> usize {
        self.push("skins", json!({"name": "rig", "joints": joints}))
    }

    /// Adds one triangle, with these additional attributes.
    pub fn triangle(&mut self, more: &[(&str, usize)]) -> usize {
        let positions = self.floats(&[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]);
        let mut primitive = json!({"attributes": {"POSITION": positions}});
        for (name, accessor) in more {
            primitive["attributes"][name] = json!(accessor);
        }
        self.push("meshes", json!({"name": "tri", "primitives": [primitive]}))
    }
}

pub fn glb(json: &Value, binary: &[u8]) -> Vec<u8> {
    let mut text = serde_json::to_vec(json).unwrap();
    text.resize(text.len().next_multiple_of(4), b' ');
    let mut binary = binary.to_vec();
    binary.resize(binary.len().next_multiple_of(4), 0);
    let mut out = b"glTF".to_vec();
    let word = |out: &mut Vec<u8>, v: usize| out.extend((v as u32).to_le_bytes());
    word(&mut out, 2);
    word(&mut out, 12 + 8 + text.len() + 8 + binary.len());
    word(&mut out, text.len());
    out.extend(b"JSON");
    out.extend(&text);
    word(&mut out, binary.len());
    out.extend(b"BIN\0");
    out.extend(&binary);
    out
}

pub fn open_bytes(bytes: &[u8]) -> Result<(Scene, Vec<Remark>), Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.glb");
    std::fs::write(&path, bytes).unwrap();
    let opened = meshreel_read::open(&path, &ReadOptions::default())?;
    // Samples are read on demand: all of them, while the file exists.
    walk(&opened.0)?;
    Ok(opened)
}

/// Returns a small file with skin, morph targets and animation.
pub fn animated() -> GlbBuilder {
    let mut maker = GlbBuilder::new();
    let joints = maker.accessor(&[0, 1, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0], 5121, "VEC4", 3);
    let weights = maker.floats(&[[0.5f32, 0.5, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.25, 0.75, 0.0, 0.0]]);
    let normals = maker.floats(&[[0.0f32, 0.0, 1.0]; 3]);
    let mesh = maker.triangle(&[("JOINTS_0", joints), ("WEIGHTS_0", weights), ("NORMAL", normals)]);
    let target = maker.floats(&[[0.0, 0.0, 1.0]; 3]);
    maker.json["meshes"][mesh]["primitives"][0]["targets"] = json!([{"POSITION": target}]);
    let root = maker.node(None, json!({"name": "root"}));
    let tip = maker.node(Some(root), json!({"name": "tip", "translation": [0, 1, 0]}));
    let mut matrices = [[0f32; 16]; 2];
    for m in &mut matrices {
        for i in [0, 5, 10, 15] {
            m[i] = 1.0;
        }
    }
    matrices[1][13] = -1.0;
    let bind = maker.floats(&matrices);
    let skin = maker.skin(&[root, tip]);
    maker.json["skins"][skin]["inverseBindMatrices"] = json!(bind);
    let body =
        maker.node(None, json!({"name": "body", "mesh": mesh, "skin": skin, "translation": [9, 9, 9]}));
    let keys = [0.0f32, 1.0 / 30.0, 2.0 / 30.0];
    maker.channel(root, "translation", "LINEAR", &keys, &[[0.0; 3], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0]]);
    let turn = [[0.0f32, 0.0, 0.0, 1.0], [0.0, 0.0, 0.6, 0.8], [0.0, 0.0, 0.8, 0.6]];
    maker.channel(tip, "rotation", "LINEAR", &keys, &turn);
    maker.channel(body, "weights", "LINEAR", &keys, &[[0.0f32], [1.0], [0.0]]);
    maker
}
