//! Writes the part of camera lenses that glTF has. It has no film back, focus or shutter, and no animation of
//! the lens.

use super::tree::{Tree, metres};
use gltf_json::camera::{Camera, Orthographic, Perspective, Type};
use gltf_json::validation::Checked::Valid;
use gltf_json::{Index, Node};
use meshreel_scene::{Channel, Error, LengthUnit, Lens, MAX_CLIPPING_DISTANCE, Remark};

impl Tree<'_> {
    /// Attaches the camera at `path` to `node`, with the lens of the first sample.
    pub fn camera(
        &mut self,
        node: Index<Node>,
        camera: &Channel<Lens>,
        (path, unit): (&str, Option<LengthUnit>),
    ) -> Result<(), Error> {
        let mut lenses = Vec::new();
        if !camera.is_empty() {
            camera.read(0, &mut lenses)?;
        }
        let mut remark = |what: &str| {
            self.meshes.remarks.insert(Remark::new(path, what));
        };
        let Some(view) = lenses.first().and_then(|lens| view(lens, metres(unit))) else {
            remark("glTF has no camera that shows what this one does; it is left out");
            return Ok(());
        };
        if !camera.is_constant() {
            remark("glTF's cameras stay as they are: its lens is that of the first frame");
        }
        let root = &mut self.meshes.document.root;
        let index = Index::push(&mut root.cameras, view);
        root.nodes[node.value()].camera = Some(index);
        Ok(())
    }
}

/// Converts a lens to a camera of glTF, whose lengths are metres; `None` if its values make no picture.
fn view(lens: &Lens, metres: f64) -> Option<Camera> {
    let [width, height] = lens.aperture;
    let [znear, zfar] = lens.clipping.map(|v| (v * metres) as f32);
    let mut camera = Camera {
        name: None,
        orthographic: None,
        perspective: None,
        type_: Valid(Type::Perspective),
        extensions: None,
        extras: Default::default(),
    };
    // An anamorphic lens shows more than the width of its film back.
    let (width, height) = (width * lens.squeeze, height);
    let far = zfar > znear && znear >= 0.0;
    let sound = [width, height, lens.focal_length].into_iter().all(|v| v > 0.0 && v.is_finite());
    if lens.orthographic {
        // glTF has half the size of the view, a lens has tenths of it.
        let [xmag, ymag] = [width, height].map(|v| (v / 20.0 * metres) as f32);
        camera.type_ = Valid(Type::Orthographic);
        camera.orthographic =
            Some(Orthographic { xmag, ymag, zfar, znear, extensions: None, extras: Default::default() });
        return (far && sound && zfar.is_finite()).then_some(camera);
    }
    camera.perspective = Some(Perspective {
        aspect_ratio: Some((width / height) as f32),
        yfov: (2.0 * (height / 2.0 / lens.focal_length).atan()) as f32,
        zfar: (lens.clipping[1] < MAX_CLIPPING_DISTANCE).then_some(zfar),
        znear,
        extensions: None,
        extras: Default::default(),
    });
    (far && sound && znear > 0.0).then_some(camera)
}
