//! Cameras and lights: their orientation, and lenses from the file's properties.

use super::moving::may_change;
use super::times::{FrameTimes, each_frame};
use glam::{DMat4, DVec3, DVec4};
use meshreel_scene::{Channel, Lens};

/// Millimetres per inch, the unit of film sizes.
const MILLIMETRES_PER_INCH: f64 = 25.4;
/// The film size in millimetres, for files without one.
const DEFAULT_FILM: [f64; 2] = [36.0, 24.0];
/// Near and far clipping distance, for files without them: the format's defaults.
const DEFAULT_CLIPPING: [f64; 2] = [10.0, 4000.0];

/// Returns the rotation from an object that looks along -z, with y up, to the axes of a node's camera or
/// light: cameras look along x, lights along -y.
pub(super) fn axis_rotation(node: &ufbx::Node) -> Option<DMat4> {
    let [x, y, z] = match (&node.camera, &node.light) {
        (Some(_), _) => [DVec3::Z, DVec3::Y, DVec3::NEG_X],
        (None, Some(_)) => [DVec3::X, DVec3::NEG_Z, DVec3::Y],
        (None, None) => return None,
    };
    Some(DMat4::from_cols(x.extend(0.0), y.extend(0.0), z.extend(0.0), DVec4::W))
}

/// Returns the lens over time, or `None` if its numbers are unusable.
pub(super) fn lens(camera: &ufbx::Camera, times: &FrameTimes<'_>) -> Option<Channel<Lens>> {
    let own = CameraProperties { camera, times };
    let count = if LENS_PROPERTIES.iter().any(|name| own.moves(name)) { times.count } else { 1 };
    let all: Option<Vec<Lens>> = (0..count).map(|frame| own.lens(frame)).collect();
    let all = all?;
    match &all[..] {
        [first, rest @ ..] if rest.iter().all(|lens| lens == first) => Some(Channel::constant(vec![*first])),
        _ => {
            let samples = all.into_iter().map(|lens| vec![lens]).collect();
            Some(each_frame(&times.sampling(), samples))
        }
    }
}

/// Properties that affect the lens.
const LENS_PROPERTIES: [&str; 14] = [
    "FocalLength",
    "FieldOfView",
    "FieldOfViewX",
    "FieldOfViewY",
    "FilmWidth",
    "FilmHeight",
    "FilmSqueezeRatio",
    "FilmOffsetX",
    "FilmOffsetY",
    "OrthoZoom",
    "NearPlane",
    "FarPlane",
    "FocusDistance",
    "FStop",
];

/// The properties of a camera over time.
struct CameraProperties<'a> {
    camera: &'a ufbx::Camera,
    times: &'a FrameTimes<'a>,
}

impl CameraProperties<'_> {
    /// `true` if an animation that is played moves the property.
    fn moves(&self, name: &str) -> bool {
        self.times.anims().any(|anim| may_change(anim, &self.camera.element, name))
    }

    /// Returns a property's value in a frame, or `None` if the file has none.
    fn value(&self, name: &str, frame: usize) -> Option<f64> {
        let element = &self.camera.element;
        ufbx::find_prop(&element.props, name)?;
        let (anim, time) = self.times.animation_at(frame);
        let value = ufbx::evaluate_prop_flags(anim, element, name, time, 0).value_vec4.x;
        value.is_finite().then_some(value)
    }

    fn lens(&self, frame: usize) -> Option<Lens> {
        let at = |name: &str| self.value(name, frame);
        let length = |v: f64| (v > 0.0 && v.is_finite()).then_some(v);
        let inches = |v: f64| v * MILLIMETRES_PER_INCH;
        let film = [self.camera.film_size_inch.x, self.camera.film_size_inch.y];
        let squeeze =
            at("FilmSqueezeRatio").or(Some(self.camera.squeeze_ratio)).and_then(length).unwrap_or(1.0);
        // Undoes the squeeze ratio, by which `ufbx` has multiplied the film height.
        let squeezed = length(self.camera.squeeze_ratio).unwrap_or(1.0);
        let width = at("FilmWidth").unwrap_or(film[0]);
        let height = at("FilmHeight").unwrap_or(film[1] / squeezed);
        let film = match (length(width), length(height)) {
            (Some(width), Some(height)) => [width, height].map(inches),
            _ => DEFAULT_FILM,
        };
        let clipping =
            [at("NearPlane").unwrap_or(DEFAULT_CLIPPING[0]), at("FarPlane").unwrap_or(DEFAULT_CLIPPING[1])];
        let sound = clipping[0] >= 0.0 && clipping[1] > clipping[0];
        let focused = self.value("UseDepthOfField", frame).is_some_and(|v| v != 0.0);
        let lens = Lens {
            squeeze,
            aperture_offset: ["FilmOffsetX", "FilmOffsetY"].map(|name| at(name).map_or(0.0, inches)),
            // Everything is sharp if the file states no aperture.
            f_stop: at("FStop").and_then(length).filter(|_| focused).unwrap_or(0.0),
            focus_distance: at("FocusDistance").and_then(length).unwrap_or(0.0),
            clipping: if sound { clipping } else { Lens::default().clipping },
            ..Lens::default()
        };
        if self.camera.projection_mode == ufbx::ProjectionMode::Orthographic {
            // The size follows the zoom; a lens states it in tenths of a unit.
            let still = ufbx::find_prop(&self.camera.element.props, "OrthoZoom").map(|p| p.value_vec4.x);
            let zoom = still.and_then(length).zip(at("OrthoZoom")).map_or(1.0, |(still, zoom)| zoom / still);
            let size = self.camera.orthographic_size;
            let aperture = [10.0 * size.x * zoom, 10.0 * size.y * zoom];
            let sound = aperture.into_iter().all(|v| length(v).is_some());
            return sound.then_some(Lens { aperture, orthographic: true, ..lens });
        }
        let aperture = self.visible_film(film, squeeze);
        let (focal_length, aperture) = self.focal_length(frame, aperture, squeeze)?;
        let sound = aperture.into_iter().all(|v| length(v).is_some());
        sound.then_some(Lens { focal_length, aperture, ..lens })
    }

    /// Returns the part of the film that the picture shows, given the gate fit; both in millimetres.
    fn visible_film(&self, [width, height]: [f64; 2], squeeze: f64) -> [f64; 2] {
        let shown = width * squeeze / height;
        let aspect = self.aspect().unwrap_or(shown);
        let wide = [width, width * squeeze / aspect];
        let high = [height * aspect / squeeze, height];
        match self.camera.gate_fit {
            ufbx::GateFit::Horizontal => wide,
            ufbx::GateFit::Vertical => high,
            ufbx::GateFit::Fill if aspect > shown => wide,
            ufbx::GateFit::Fill => high,
            ufbx::GateFit::Overscan if aspect < shown => wide,
            ufbx::GateFit::Overscan => high,
            ufbx::GateFit::None | ufbx::GateFit::Stretch => [width, height],
        }
    }

    /// Returns the aspect ratio, width over height, if the file states it.
    fn aspect(&self) -> Option<f64> {
        let aspect = self.camera.aspect_ratio;
        (aspect > 0.0 && aspect.is_finite()).then_some(aspect)
    }

    /// Returns the focal length and the matching aperture; angles of view in the file take precedence. An
    /// animated focal length comes before a constant angle, since exporters animate one of them.
    fn focal_length(&self, frame: usize, [x, y]: [f64; 2], squeeze: f64) -> Option<(f64, [f64; 2])> {
        // The tangent of half an angle given in degrees.
        let tangent = |name: &str| {
            let angle = self.value(name, frame).filter(|angle| *angle > 0.0 && *angle < 180.0)?;
            Some((angle / 2.0).to_radians().tan())
        };
        let own = self.value("FocalLength", frame).filter(|v| *v > 0.0);
        let own = own.map(|focal| (focal, [x, y]));
        let (names, of_angles): (&[&str], Option<(f64, [f64; 2])>) = match self.camera.aperture_mode {
            ufbx::ApertureMode::FocalLength => (&[], None),
            ufbx::ApertureMode::Horizontal => {
                let focal = tangent("FieldOfView").map(|tangent| x / 2.0 / tangent);
                let high = self.aspect().map_or(y, |aspect| x * squeeze / aspect);
                (&["FieldOfView"], focal.map(|focal| (focal, [x, high])))
            }
            ufbx::ApertureMode::Vertical => {
                let focal = tangent("FieldOfView").map(|tangent| y / 2.0 / tangent);
                let wide = self.aspect().map_or(x, |aspect| y * aspect / squeeze);
                (&["FieldOfView"], focal.map(|focal| (focal, [wide, y])))
            }
            ufbx::ApertureMode::HorizontalAndVertical => {
                let both = tangent("FieldOfViewX").zip(tangent("FieldOfViewY"));
                let focal = both.map(|(wide, high)| (x / 2.0 / wide, [x, x / wide * high]));
                (&["FieldOfViewX", "FieldOfViewY"], focal)
            }
        };
        let stale = self.moves("FocalLength") && !names.iter().any(|name| self.moves(name));
        let first = if stale { own } else { of_angles };
        let (focal, aperture) = first.or(own).or(of_angles)?;
        focal.is_finite().then_some((focal, aperture))
    }
}
