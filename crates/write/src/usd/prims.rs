//! The prims of a layer: the nodes of the scene, parents before children.

use super::layer::{Layer, PrimId, Samples};
use super::skeleton::{self, Skeletons};
use super::value::{Element, Value};
use crate::nodes::written_nodes;
use glam::{DQuat, DVec3};
use meshreel_scene::{Channel, Error, Lens, LocalTransform, MeshId, Node, Qvv, Remark, Scene, Transform};
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

/// The prim that holds everything in a layer with skeletons: only below a prim of its type are meshes moved
/// by joints.
const SKELETON_ROOT: &str = "root";

/// Returns a number of a lens, at a number of frames per second.
type LensNumber = fn(&Lens, f64) -> f64;

impl<'a> Layer<'a> {
    /// Adds a scene. Remarks tell what is left out.
    pub fn add_scene(&mut self, scene: &'a Scene) -> Result<Vec<Remark>, Error> {
        let mut remarks = BTreeSet::new();
        let written = written_nodes(scene);
        let top = (!scene.skeletons.is_empty()).then(|| self.prim(None, SKELETON_ROOT, "SkelRoot"));
        let mut skeletons = Skeletons::new(self, scene, top);
        let mut has_children = vec![false; scene.nodes.len()];
        scene.nodes.iter().filter_map(|node| node.parent).for_each(|parent| has_children[parent] = true);
        let mut prims: Vec<Option<PrimId>> = vec![None; scene.nodes.len()];
        let mut meshes: HashMap<MeshId, PrimId> = HashMap::new();
        for (id, node) in scene.nodes.iter().enumerate().filter(|(id, _)| written[*id]) {
            let parent = node.parent.and_then(|parent| prims[parent]).or(top);
            let first = node.mesh.and_then(|mesh| meshes.get(&mesh)).copied();
            let prim = match (node.mesh, first) {
                (_, Some(first)) => {
                    let prim = self.prim(parent, &node.name, "");
                    self.prims[prim].reference = Some(first);
                    prim
                }
                (Some(mesh), None) => {
                    let own = &scene.meshes[mesh];
                    let skin = skeleton::skin(own);
                    let prim = self.add_mesh(parent, &node.name, own, skin)?;
                    if let Some(skin) = skin {
                        skeletons.bind(self, scene, prim, skin)?;
                    }
                    // A later node of the mesh would take these over.
                    if node.transform.is_none() && node.visibility.is_none() && !has_children[id] {
                        meshes.insert(mesh, prim);
                    }
                    prim
                }
                (None, None) => {
                    let is_camera = node.camera.is_some();
                    let is_instance = node.instance_of.is_some();
                    let type_name = if is_camera {
                        "Camera"
                    } else if is_instance {
                        ""
                    } else {
                        "Xform"
                    };
                    self.prim(parent, &node.name, type_name)
                }
            };
            prims[id] = Some(prim);
            if let Some(camera) = &node.camera {
                self.camera(prim, camera);
            }
            self.visibility(prim, node);
            if let Some(transform) = &node.transform {
                self.transform(prim, transform, &node.path, &mut remarks)?;
            }
        }
        for (id, node) in scene.nodes.iter().enumerate() {
            if let (Some(target), Some(prim)) = (node.instance_of, prims[id]) {
                self.prims[prim].reference = prims[target];
                self.prims[prim].fields.push(("instanceable", Value::Bool(true)));
            }
        }
        skeletons.finish(self, scene);
        skeleton::remarks_on_left_out(scene, &mut remarks);
        Ok(remarks.into_iter().collect())
    }

    fn visibility(&mut self, prim: PrimId, node: &'a Node) {
        let Some(channel) = &node.visibility else { return };
        self.channel(prim, ("visibility", "token"), channel, |values| {
            // Nothing is visible below what is hidden, so −1 and 1 are the same.
            let is_shown = values.first().is_none_or(|v| matches!(v, -1 | 1));
            Value::token(if is_shown { "inherited" } else { "invisible" })
        });
    }

    /// Adds a transform: translation, rotation and scale if all samples have these, so that rotations are
    /// interpolated as rotations, else a matrix.
    fn transform(
        &mut self,
        prim: PrimId,
        transform: &Transform,
        path: &str,
        remarks: &mut BTreeSet<Remark>,
    ) -> Result<(), Error> {
        let local = &transform.local;
        let count = if local.is_constant() { local.len().min(1) } else { local.len() };
        let codes = match count {
            0 => return Ok(()),
            1 => Rc::default(),
            _ => self.codes((0..count).map(|i| local.time(i))),
        };
        let mut locals = Vec::with_capacity(count);
        let mut values = Vec::new();
        for i in 0..codes.len().max(1) {
            local.read(i, &mut values)?;
            locals.push(values.first().copied().unwrap_or(LocalTransform::IDENTITY));
        }
        let parts: Option<Vec<Qvv>> = locals
            .iter()
            .map(|local| if let LocalTransform::Components(parts) = local { Some(*parts) } else { None })
            .collect();
        let mut order = Vec::new();
        if let Some(inherits) = transform.inherits.as_ref().filter(|own| !own.is_empty()) {
            let mut flags = Vec::new();
            inherits.read(0, &mut flags)?;
            if flags.first() == Some(&false) {
                order.push("!resetXformStack!".to_owned());
            }
            if !inherits.is_constant() {
                let what = "USD cannot change whether a parent moves it; it stays as in the first frame";
                remarks.insert(Remark::new(path, what));
            }
        }
        let mut add = |layer: &mut Layer<'a>, name: &str, type_name, element, numbers: Vec<Vec<f64>>| {
            order.push(name.to_owned());
            let bytes: Vec<Vec<u8>> =
                numbers.iter().map(|own| own.iter().flat_map(|v| v.to_le_bytes()).collect()).collect();
            let still = bytes.iter().all(|own| *own == bytes[0]);
            let samples = Samples {
                codes: if still { Rc::default() } else { codes.clone() },
                read: Box::new(move |i| {
                    Ok(Value::Numbers { element, array: false, bytes: bytes[i].clone() })
                }),
                identity: Box::new(|i| i as u128),
            };
            layer.attribute(prim, name, type_name, samples);
        };
        match parts {
            Some(parts) => {
                let vectors = |of: fn(&Qvv) -> DVec3| parts.iter().map(|p| of(p).to_array().into()).collect();
                add(self, "xformOp:translate", "double3", Element::F64x3, vectors(|p| p.translation));
                let mut last = DQuat::IDENTITY;
                let turns = parts.iter().map(|p| {
                    last = if last.dot(p.rotation) < 0.0 { -p.rotation } else { p.rotation };
                    last.to_array().into()
                });
                add(self, "xformOp:orient", "quatd", Element::QuatF64, turns.collect());
                add(self, "xformOp:scale", "double3", Element::F64x3, vectors(|p| p.scale));
            }
            None => {
                let matrices = locals.iter().map(|local| local.matrix().to_cols_array().into()).collect();
                add(self, "xformOp:transform", "matrix4d", Element::Matrix, matrices);
            }
        }
        self.uniform(prim, "xformOpOrder", "token[]", Value::Tokens(order));
        Ok(())
    }

    /// Adds the lens of a camera. Lengths of the film are millimetres, times of the shutter frames.
    fn camera(&mut self, prim: PrimId, camera: &'a Channel<Lens>) {
        let fps = self.fps;
        let numbers: [(&str, LensNumber); 9] = [
            ("focalLength", |lens, _| lens.focal_length),
            ("horizontalAperture", |lens, _| lens.aperture[0] * lens.squeeze),
            ("verticalAperture", |lens, _| lens.aperture[1]),
            ("horizontalApertureOffset", |lens, _| lens.aperture_offset[0]),
            ("verticalApertureOffset", |lens, _| lens.aperture_offset[1]),
            ("fStop", |lens, _| lens.f_stop),
            ("focusDistance", |lens, _| lens.focus_distance),
            ("shutter:open", |lens, fps| lens.shutter[0] * fps),
            ("shutter:close", |lens, fps| lens.shutter[1] * fps),
        ];
        let lens = |values: &[Lens]| values.first().copied().unwrap_or_default();
        for (name, number) in numbers {
            let double = name.starts_with("shutter");
            let type_name = if double { "double" } else { "float" };
            self.channel(prim, (name, type_name), camera, move |values| {
                let value = number(&lens(values), fps);
                if double { Value::f64(value) } else { Value::f32(value as f32) }
            });
        }
        self.channel(prim, ("clippingRange", "float2"), camera, move |values| {
            let bytes = lens(values).clipping.iter().flat_map(|v| (*v as f32).to_le_bytes()).collect();
            Value::Numbers { element: Element::F32x2, array: false, bytes }
        });
        self.channel(prim, ("projection", "token"), camera, move |values| {
            Value::token(if lens(values).orthographic { "orthographic" } else { "perspective" })
        });
    }
}
