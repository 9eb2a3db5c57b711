//! A skeleton in motion, as the text of a BVH file.

use std::fmt::Write;

/// Three joints and an end site that swing; `shift` turns the last joint of sample 7 by that many degrees.
pub fn bvh(samples: usize, shift: f64) -> String {
    let mut text = String::from(
        "HIERARCHY\nROOT hips\n{\nOFFSET 0 90 0\nCHANNELS 6 Xposition Yposition Zposition Zrotation Yrotation Xrotation
        JOINT knee\n{\nOFFSET 0 -40 2\nCHANNELS 3 Zrotation Yrotation Xrotation
        JOINT foot\n{\nOFFSET 0 -42 0\nCHANNELS 3 Zrotation Yrotation Xrotation\nEnd Site\n{\nOFFSET 0 0 15\n}\n}\n}\n}\n",
    );
    let _ = writeln!(text, "MOTION\nFrames: {samples}\nFrame Time: 0.0333333");
    for i in 0..samples {
        let t = i as f64 * 0.2;
        let more = if i == 7 { shift } else { 0.0 };
        let _ = writeln!(
            text,
            "{} {} {} {} {} {} 0 0 {} {} 0 {}",
            t.sin() * 5.0,
            90.0 + t.cos(),
            3.0 * t,
            t.cos() * 20.0,
            t.sin() * 30.0,
            t * 3.0,
            40.0 + 35.0 * t.sin(),
            5.0 * t.cos() + more,
            12.0 * t.sin(),
        );
    }
    text
}
