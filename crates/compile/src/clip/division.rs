//! The layer of each joint: by the file, by the user, or by importance.
//!
//! In this order, later ones win: `below` and `share` of a layer (automatic), the layer that the source
//! names, `joints` of a layer, a joint section's `layer`. Then a joint is moved to the lowest layer of any of
//! its descendants.

use super::layer::{LayerDivision, LayerSettings};
use super::reference::Joints;
use super::{ClipOptions, importance};
use crate::Error;
use meshreel_codec::clip::layer::MAX_LAYERS;
use meshreel_options::globs::globs;
use meshreel_options::{ClipChoice, LayerChoice, Options, Strip};
use meshreel_scene::{Remark, Skeleton};

/// Returns the division of the clips of `skeleton` into layers; `None` if none is requested.
pub fn requested_division(
    skeleton: &Skeleton,
    clip: &ClipOptions,
    options: &Options,
    remarks: &mut Vec<Remark>,
) -> Result<Option<LayerDivision>, Error> {
    let choice = &options.clips;
    let named = skeleton.joints.iter().filter_map(|j| j.layer.as_deref());
    let layers = layers(choice, named)?;
    let n = skeleton.joints.len();
    let sections: Vec<String> = choice.joints.iter().map(|over| over.glob.clone()).collect();
    let sections = globs("the glob of a joint section", &sections)?;
    let own: Vec<Vec<usize>> = (0..n)
        .map(|j| {
            let mut all = sections.matches(&skeleton.joints[j].name);
            all.extend(sections.matches(skeleton.path(j)));
            all.sort_unstable();
            all
        })
        .collect();
    let last = |j: usize| own[j].iter().rev().map(|&i| &choice.joints[i]);
    let stepped: Vec<bool> = (0..n).map(|j| last(j).any(|over| over.stepped)).collect();
    if layers.len() < 2 && layers.iter().all(is_plain) && !stepped.contains(&true) {
        return Ok(None);
    }
    let bias: Vec<f64> = (0..n)
        .map(|j| {
            let given = last(j).find_map(|over| over.bias);
            given.or(skeleton.joints[j].bias).unwrap_or(1.0)
        })
        .collect();
    if let Some(j) = bias.iter().position(|b| !(*b >= 0.0 && b.is_finite())) {
        return Err(Error::misuse(format!(
            "joint {}: a bias must be a number from 0 on, not {}",
            skeleton.joints[j].name, bias[j]
        )));
    }
    let joints = Joints::new(skeleton, clip.shell);
    let importance = importance::importance(&joints, &bias);
    let mut layer_of = assign_layers(skeleton, &layers, &importance, remarks)?;
    for j in 0..n {
        if let Some(name) = last(j).find_map(|over| over.layer.as_deref()) {
            let Some(l) = layers.iter().position(|layer| layer.name == name) else {
                return Err(Error::misuse(format!(
                    "joint {}: there is no layer {name}; add a [[layer]] of that name",
                    skeleton.joints[j].name
                )));
            };
            layer_of[j] = l as u8;
        }
    }
    lower_to_descendants(skeleton, &mut layer_of, remarks);
    let part = |layer: &LayerChoice| LayerSettings {
        name: layer.name.clone(),
        rate: layer.rate,
        strip: layer.strip,
        tiers: layer.tiers,
    };
    Ok(Some(LayerDivision { layers: layers.iter().map(part).collect(), layer_of, stepped }))
}

/// Returns, by joint, its layer by importance, the source and globs of layers.
fn assign_layers(
    skeleton: &Skeleton,
    layers: &[LayerChoice],
    importance: &[f64],
    remarks: &mut Vec<Remark>,
) -> Result<Vec<u8>, Error> {
    let mut layer_of = vec![0u8; skeleton.joints.len()];
    let mut put = |l: usize, which: &[bool]| {
        for (of, _) in layer_of.iter_mut().zip(which).filter(|(_, own)| **own) {
            *of = l as u8;
        }
    };
    for (l, layer) in layers.iter().enumerate() {
        if let Some(part) = layer.below {
            put(l, &importance::below_fraction(importance, part));
        }
        if let Some(share) = layer.fraction {
            put(l, &importance::least_fraction(importance, share));
        }
    }
    let number = |name: &str| layers.iter().position(|layer| layer.name == name);
    for (j, joint) in skeleton.joints.iter().enumerate() {
        if let Some(l) = joint.layer.as_deref().and_then(number) {
            layer_of[j] = l as u8;
        }
    }
    for (l, layer) in layers.iter().enumerate() {
        let set = globs("joints of a layer", &layer.joints)?;
        let hits = |j: &usize| set.is_match(&skeleton.joints[*j].name) || set.is_match(skeleton.path(*j));
        let hits: Vec<usize> = (0..skeleton.joints.len()).filter(hits).collect();
        if hits.is_empty() && !layer.joints.is_empty() {
            remarks.push(Remark::new(&layer.name, format!("matches no joint of skeleton {}", skeleton.name)));
        }
        hits.into_iter().for_each(|j| layer_of[j] = l as u8);
    }
    Ok(layer_of)
}

/// Moves each joint to the lowest layer of any of its descendants.
fn lower_to_descendants(skeleton: &Skeleton, layer_of: &mut [u8], remarks: &mut Vec<Remark>) {
    let before = layer_of.to_vec();
    for j in (0..layer_of.len()).rev() {
        if let Some(parent) = skeleton.joints[j].parent {
            layer_of[parent] = layer_of[parent].min(layer_of[j]);
        }
    }
    let lifted: Vec<usize> = (0..layer_of.len()).filter(|&j| before[j] != layer_of[j]).collect();
    if let Some(&first) = lifted.first() {
        remarks.push(Remark::new(
            &skeleton.name,
            format!(
                "{} joints are in a lower layer than they were put, because of what hangs from them ({})",
                lifted.len(),
                skeleton.joints[first].name
            ),
        ));
    }
}

/// Returns `true` if a layer keeps the clip unchanged: no rate, no stripping, a single tier.
fn is_plain(layer: &LayerChoice) -> bool {
    layer.rate.is_none() && layer.strip == Strip::None && layer.tiers == 1
}

/// Returns the requested layers, and those that the source names besides.
fn layers<'a>(choice: &ClipChoice, named: impl Iterator<Item = &'a str>) -> Result<Vec<LayerChoice>, Error> {
    let mut layers = choice.layers.clone();
    if layers.is_empty() {
        layers.push(LayerChoice { name: "base".into(), ..LayerChoice::default() });
        for name in named {
            if layers.iter().all(|layer| layer.name != name) {
                layers.push(LayerChoice { name: name.into(), ..LayerChoice::default() });
            }
        }
    }
    match layers.len() <= MAX_LAYERS {
        true => Ok(layers),
        false => Err(Error::misuse(format!("{} layers; a clip has at most {MAX_LAYERS}", layers.len()))),
    }
}
