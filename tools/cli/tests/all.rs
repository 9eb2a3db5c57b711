//! Everything that needs several crates, or the program itself. One program: each of its own would take as
//! long to build as all of them.

mod attributes;
mod between;
mod cli;
mod clips;
mod compiled;
mod content;
mod detail;
mod document;
mod doors;
mod drawn;
mod extract;
mod farm;
mod fluid;
mod flying;
mod given;
mod golden;
mod house;
mod knobs;
mod layered;
mod layers;
mod methods;
mod nodes;
mod odd_clips;
mod openvat;
mod promise;
mod random;
mod remesh;
mod replaced;
mod rig;
mod robust;
mod sample;
mod scene;
mod sizes;
mod still;
mod view;
