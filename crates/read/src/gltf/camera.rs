//! Cameras: a lens on film 24 mm high with the same view as the file's camera.

use super::document::CameraJson;
use meshreel_scene::{Lens, MAX_CLIPPING_DISTANCE};

/// Width and height of the film in millimetres; the width applies if the file leaves the aspect ratio to the
/// window.
const FILM_SIZE: [f64; 2] = [36.0, 24.0];

/// A number of a camera that an animation may move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LensParameter {
    AspectRatio,
    Yfov,
    Xmag,
    Ymag,
    Znear,
    Zfar,
}

impl LensParameter {
    /// Returns the number called `name` of a camera of type `kind`.
    pub fn from_name(kind: &str, name: &str) -> Option<LensParameter> {
        Some(match (kind, name) {
            ("perspective", "aspectRatio") => LensParameter::AspectRatio,
            ("perspective", "yfov") => LensParameter::Yfov,
            ("orthographic", "xmag") => LensParameter::Xmag,
            ("orthographic", "ymag") => LensParameter::Ymag,
            ("perspective" | "orthographic", "znear") => LensParameter::Znear,
            ("perspective" | "orthographic", "zfar") => LensParameter::Zfar,
            _ => return None,
        })
    }

    /// Sets this number of the camera.
    pub fn set(self, camera: &mut CameraJson, value: f64) {
        if let Some(view) = &mut camera.perspective {
            match self {
                LensParameter::AspectRatio => view.aspect_ratio = Some(value),
                LensParameter::Yfov => view.yfov = value,
                LensParameter::Znear => view.znear = value,
                LensParameter::Zfar => view.zfar = Some(value),
                LensParameter::Xmag | LensParameter::Ymag => {}
            }
        }
        if let Some(view) = &mut camera.orthographic {
            match self {
                LensParameter::Xmag => view.xmag = value,
                LensParameter::Ymag => view.ymag = value,
                LensParameter::Znear => view.znear = value,
                LensParameter::Zfar => view.zfar = value,
                LensParameter::AspectRatio | LensParameter::Yfov => {}
            }
        }
    }
}

/// Returns the lens of a camera; `None` if its numbers are unusable.
pub(super) fn lens(camera: &CameraJson) -> Option<Lens> {
    let is_length = |v: f64| v > 0.0 && v.is_finite();
    // Everything is sharp; the shutter is the default.
    let sharp = Lens { f_stop: 0.0, ..Lens::default() };
    let [width, height] = FILM_SIZE;
    if let Some(view) = &camera.perspective {
        let aspect = view.aspect_ratio.unwrap_or(width / height);
        let focal_length = height / 2.0 / (view.yfov / 2.0).tan();
        let far = view.zfar.unwrap_or(MAX_CLIPPING_DISTANCE);
        let sound = [focal_length, aspect, view.znear, far].into_iter().all(is_length) && far > view.znear;
        let lens =
            Lens { focal_length, aperture: [height * aspect, height], clipping: [view.znear, far], ..sharp };
        return sound.then_some(lens);
    }
    let view = camera.orthographic.as_ref()?;
    // `xmag` and `ymag` are half the visible size; a lens has all of it in tenths.
    let aperture = [view.xmag, view.ymag].map(|v| 20.0 * v.abs());
    let far = is_length(view.zfar) && view.znear >= 0.0 && view.zfar > view.znear;
    let sound = far && aperture.into_iter().all(is_length);
    let lens = Lens { aperture, clipping: [view.znear, view.zfar], orthographic: true, ..sharp };
    sound.then_some(lens)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Lens> {
        lens(&serde_json::from_str(text).unwrap())
    }

    #[test]
    fn i12_lenses_show_what_cameras_of_gltf_do() {
        let wide = read(r#"{ "perspective": { "yfov": 1.0, "aspectRatio": 2, "znear": 0.1 } }"#).unwrap();
        assert!((2.0 * (wide.aperture[1] / 2.0 / wide.focal_length).atan() - 1.0).abs() < 1e-12);
        assert_eq!((wide.aperture, wide.clipping), ([48.0, 24.0], [0.1, MAX_CLIPPING_DISTANCE]));
        let flat = read(r#"{ "orthographic": { "xmag": 3, "ymag": 2, "znear": 0, "zfar": 9 } }"#).unwrap();
        assert_eq!((flat.aperture, flat.clipping, flat.orthographic), ([60.0, 40.0], [0.0, 9.0], true));
    }

    #[test]
    fn i12_cameras_that_show_nothing_have_no_lens() {
        for text in [
            "{}",
            r#"{ "perspective": {} }"#,
            r#"{ "perspective": { "yfov": -1, "znear": 0.1 } }"#,
            r#"{ "perspective": { "yfov": 4, "znear": 0.1 } }"#,
            r#"{ "perspective": { "yfov": 1, "znear": 0.1, "aspectRatio": 0 } }"#,
            r#"{ "perspective": { "yfov": 1, "znear": 5, "zfar": 4 } }"#,
            r#"{ "orthographic": { "xmag": 0, "ymag": 1, "znear": 0, "zfar": 1 } }"#,
            r#"{ "orthographic": { "xmag": 1, "ymag": 1, "znear": -1, "zfar": 1 } }"#,
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
