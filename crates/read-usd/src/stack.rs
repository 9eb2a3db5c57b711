//! Layer stacks: a layer with its sublayers.

use super::assets::Assets;
use super::clips::ClipFile;
use super::layer::{Layer, MISSING_FILE, Usable, usable};
use super::value::{Retime, Value};
use meshreel_scene::{Error, Remark};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// Upper limit for the layers of a scene.
const MAX_LAYERS: usize = 1 << 14;
/// Upper limits for the remarks that are kept, and for their bytes.
const MAX_REMARKS: usize = 1 << 17;
const MAX_REMARK_BYTES: usize = 16 << 20;
/// Upper limit for the nesting of sublayers.
const MAX_DEPTH: usize = 64;
/// Time codes per second for layers that do not state them.
const DEFAULT_RATE: f64 = 24.0;

/// One layer of a stack.
#[derive(Clone)]
pub struct StackLayer {
    pub layer: Arc<Layer>,
    /// The file name; see [`Assets`].
    pub name: Arc<str>,
    /// Maps its time codes to those of the stack's first layer.
    pub retime: Retime,
}

/// A layer and its sublayers, strongest first.
pub struct Stack {
    pub layers: Vec<StackLayer>,
}

impl Stack {
    pub fn root_layer(&self) -> &Layer {
        &self.layers[0].layer
    }

    /// Returns the time codes per second of its first layer.
    pub fn rate(&self) -> Result<f64, Error> {
        rate(self.root_layer())
    }
}

/// Returns a field of the layer itself.
pub fn layer_field(layer: &Layer, name: &str) -> Result<Option<Value>, Error> {
    let value = layer.specs.field(layer.specs.prim(0).fields, name);
    value.map(|value| layer.value(value)).transpose()
}

fn rate(layer: &Layer) -> Result<f64, Error> {
    for name in ["timeCodesPerSecond", "framesPerSecond"] {
        let rate = layer_field(layer, name)?.and_then(|value| value.number());
        if let Some(rate) = rate.filter(|rate| rate.is_finite() && *rate > 0.0) {
            return Ok(rate);
        }
    }
    Ok(DEFAULT_RATE)
}

/// A layer and the name of its file.
type NamedLayer = (Arc<Layer>, Arc<str>);

/// All stacks of a scene; each file is opened once.
pub struct Stacks {
    pub assets: Assets,
    pub stacks: Vec<Stack>,
    by_name: HashMap<Arc<str>, Usable<usize>>,
    layers: HashMap<Arc<str>, Usable<Arc<Layer>>>,
    remarks: Vec<Remark>,
    remark_bytes: usize,
    /// The number of remarks beyond the limit.
    more: usize,
}

impl Stacks {
    /// Opens the stack of a file; it is number 0.
    pub fn open(path: &Path) -> Result<Stacks, Error> {
        let (assets, name) = Assets::new(path);
        let (by_name, layers) = Default::default();
        let mut stacks = Stacks {
            assets,
            stacks: Vec::new(),
            by_name,
            layers,
            remarks: Vec::new(),
            remark_bytes: 0,
            more: 0,
        };
        // This is the only file that must be valid.
        let first = stacks.assets.complete_name(&name)?;
        let layer = first.as_ref().map(|first| stacks.assets.open(first)).transpose()?.flatten();
        let (Some(first), Some(layer)) = (first, layer) else {
            return Err(Error::io(path, std::io::ErrorKind::NotFound.into()));
        };
        stacks.layers.insert(first.as_str().into(), Ok(Arc::new(layer)));
        let number = stacks.build_stack(&name)?;
        stacks.by_name.insert(name.into(), number.ok_or_else(|| MISSING_FILE.into()));
        Ok(stacks)
    }

    pub fn remark(&mut self, node: &str, what: impl Into<String>) {
        let remark = Remark::new(node, what);
        self.remark_bytes += remark.node.len() + remark.what.len();
        match self.remarks.len() < MAX_REMARKS && self.remark_bytes <= MAX_REMARK_BYTES {
            true => self.remarks.push(remark),
            false => self.more += 1,
        }
    }

    pub fn remarks(&mut self) -> Vec<Remark> {
        let mut out = std::mem::take(&mut self.remarks);
        if self.more > 0 {
            out.push(Remark::new("/", format!("{} more remarks are not listed", self.more)));
        }
        out
    }

    /// Returns the number of a file's stack, or the reason why there is none.
    pub fn stack(&mut self, name: &str) -> Result<Usable<usize>, Error> {
        if let Some(known) = self.by_name.get(name) {
            return Ok(known.clone());
        }
        let number = match self.layer(name)? {
            Ok(_) => usable(self.build_stack(name))?,
            Err(what) => Err(what),
        };
        self.by_name.insert(name.into(), number.clone());
        Ok(number)
    }

    /// Makes the stack of a file; `None` if its layer is unavailable.
    fn build_stack(&mut self, name: &str) -> Result<Option<usize>, Error> {
        let Ok((layer, name)) = self.layer(name)? else {
            return Ok(None);
        };
        let (mut layers, mut above) = (Vec::new(), Vec::new());
        self.push(StackLayer { layer, name, retime: Retime::IDENTITY }, &mut layers, &mut above)?;
        self.stacks.push(Stack { layers });
        Ok(Some(self.stacks.len() - 1))
    }

    /// Returns one file's layer without sublayers, or the reason why there is none.
    pub fn layer_alone(&mut self, name: &str) -> Result<Usable<Arc<Layer>>, Error> {
        Ok(self.layer(name)?.map(|(layer, _)| layer))
    }

    /// Returns the location of a clip file, or the reason why there is none.
    pub fn clip(&mut self, name: &str) -> Result<Usable<ClipFile>, Error> {
        usable(self.assets.clip(name))
    }

    /// Returns the layer of a file (of a package, its default entry), or the reason why there is none.
    fn layer(&mut self, name: &str) -> Result<Usable<NamedLayer>, Error> {
        let name: Arc<str> = match usable(self.assets.complete_name(name))? {
            Ok(name) => name.into(),
            Err(what) => return Ok(Err(what)),
        };
        if let Some(known) = self.layers.get(&name) {
            return Ok(known.clone().map(|layer| (layer, name)));
        }
        if self.layers.len() >= MAX_LAYERS {
            let (asked, allowed) = (MAX_LAYERS as u64 + 1, MAX_LAYERS as u64);
            return Err(Error::limit(
                Path::new(&*name),
                "layers of a scene; flatten it with `usdcat --flatten`",
                asked,
                allowed,
            ));
        }
        let layer = usable(self.assets.open(&name))?.map(Arc::new);
        self.layers.insert(name.clone(), layer.clone());
        Ok(layer.map(|layer| (layer, name)))
    }

    /// Adds a layer and its sublayers. `above`: the names of the layers it is a sublayer of.
    fn push(
        &mut self,
        own: StackLayer,
        layers: &mut Vec<StackLayer>,
        above: &mut Vec<Arc<str>>,
    ) -> Result<(), Error> {
        let StackLayer { layer, name, retime } = own.clone();
        layers.push(own);
        if layers.len() > MAX_LAYERS {
            let (asked, allowed) = (layers.len() as u64, MAX_LAYERS as u64);
            return Err(Error::limit(
                &layer.name,
                "sublayers; flatten it with `usdcat --flatten`",
                asked,
                allowed,
            ));
        }
        let below = layer_field(&layer, "subLayers")?.map(Value::texts).unwrap_or_default();
        let retimes = match layer_field(&layer, "subLayerOffsets")? {
            Some(Value::Retimes(list)) => list,
            _ => Vec::new(),
        };
        above.push(name.clone());
        for (i, asset) in below.iter().enumerate() {
            let Some((sublayer, below)) = self.sublayer(&name, asset, above)? else {
                continue;
            };
            let own = retimes.get(i).copied().unwrap_or(Retime::IDENTITY);
            let own = self.usable_retime(own, &name, asset);
            let (count, depth) = (layers.len(), above.len());
            let scales = rate(&layer).and_then(|above| Ok(above / rate(&sublayer)?));
            let pushed = scales.and_then(|scale| {
                let retime = retime.after(own).after(Retime { offset: 0.0, scale });
                self.push(StackLayer { layer: sublayer, name: below, retime }, layers, above)
            });
            if let Err(what) = usable(pushed.map(Some))? {
                layers.truncate(count);
                above.truncate(depth);
                self.remark(&name, format!("the sublayer '{}' {what}; left out", abbreviated(asset)));
            }
        }
        above.pop();
        Ok(())
    }

    /// Returns the layer offset of an asset that `node` refers to; if time does not run forwards in it, the
    /// identity, with a remark.
    pub fn usable_retime(&mut self, retime: Retime, node: &str, asset: &str) -> Retime {
        if retime.is_usable() {
            return retime;
        }
        let Retime { offset, scale } = retime;
        let what = format!(
            "the layer offset (offset {offset}, scale {scale}) of '{}' is not one in which time goes forwards; read without it",
            abbreviated(asset)
        );
        self.remark(node, what);
        Retime::IDENTITY
    }

    /// Opens a sublayer; if that fails, `None`, with a remark on the reason.
    fn sublayer(&mut self, from: &str, asset: &str, above: &[Arc<str>]) -> Result<Option<NamedLayer>, Error> {
        let what: Arc<str> = match Assets::resolve(from, asset) {
            Err(what) => what.into(),
            Ok(name) if above.iter().any(|above| **above == *name) => "lies over itself".into(),
            Ok(_) if above.len() >= MAX_DEPTH => "is a sublayer of too many others".into(),
            Ok(name) => match self.layer(&name)? {
                Ok(named) => return Ok(Some(named)),
                Err(what) => what,
            },
        };
        self.remark(from, format!("the sublayer '{}' {what}; left out", abbreviated(asset)));
        Ok(None)
    }
}

/// Returns the start of a name, for messages.
pub fn abbreviated(name: &str) -> String {
    name.chars().take(80).collect::<String>().escape_debug().to_string()
}
