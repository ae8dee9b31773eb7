//! Records ONNX nodes, one call an operator: values are names, constants are stored once they are asked for. Knows nothing
//! of networks or methods.

use super::proto::*;
use std::collections::{HashMap, HashSet};

/// A tensor of the graph, by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Val(String);

/// A dimension: fixed, or the number of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dim {
    Rows,
    Is(usize),
}

/// The domain of the operators for tables of texts and numbers.
pub const ML: &str = "ai.onnx.ml";
/// Versions of the operators: ONNX 1.12 and onnxruntime 1.12 know them.
pub const OPSET: i64 = 17;
pub const OPSET_ML: i64 = 3;
pub const IR_VERSION: i64 = 8;

#[derive(Debug, Default)]
pub struct Graph {
    nodes: Vec<NodeProto>,
    constants: Vec<TensorProto>,
    inputs: Vec<ValueInfoProto>,
    outputs: Vec<ValueInfoProto>,
    taken: HashSet<String>,
    scalars: HashMap<(i32, u64), Val>,
}

fn attribute(name: &str, kind: i32) -> AttributeProto {
    AttributeProto { name: Some(name.into()), r#type: Some(kind), ..Default::default() }
}

pub fn int(name: &str, value: i64) -> AttributeProto {
    AttributeProto { i: Some(value), ..attribute(name, INT) }
}

pub fn ints(name: &str, values: &[i64]) -> AttributeProto {
    AttributeProto { ints: values.to_vec(), ..attribute(name, INTS) }
}

pub fn text(name: &str, value: &str) -> AttributeProto {
    AttributeProto { s: Some(value.as_bytes().to_vec()), ..attribute(name, STRING) }
}

pub fn texts(name: &str, values: &[String]) -> AttributeProto {
    AttributeProto { strings: values.iter().map(|v| v.as_bytes().to_vec()).collect(), ..attribute(name, STRINGS) }
}

fn described(name: &str, element: Element, shape: &[Dim], doc: &str) -> ValueInfoProto {
    let dim = |d: &Dim| match d {
        Dim::Rows => DimensionProto { dim_param: Some("n".into()), dim_value: None },
        Dim::Is(v) => DimensionProto { dim_value: Some(*v as i64), dim_param: None },
    };
    let shape = TensorShapeProto { dim: shape.iter().map(dim).collect() };
    let tensor = TensorTypeProto { elem_type: Some(element as i32), shape: Some(shape) };
    let kind = TypeProto { tensor_type: Some(tensor) };
    ValueInfoProto { name: Some(name.into()), r#type: Some(kind), doc_string: Some(doc.into()) }
}

impl Graph {
    /// `name` itself, or with as many underscores behind it as make it new.
    fn own_name(&mut self, name: &str) -> String {
        let mut name = name.to_string();
        while !self.taken.insert(name.clone()) {
            name.push('_');
        }
        name
    }

    /// Inputs come before everything else, so that they keep their names.
    pub fn input(&mut self, name: &str, element: Element, shape: &[Dim], doc: &str) -> Val {
        let name = self.own_name(name);
        self.inputs.push(described(&name, element, shape, doc));
        Val(name)
    }

    pub fn output(&mut self, name: &str, value: &Val, element: Element, shape: &[Dim], doc: &str) {
        let name = self.own_name(name);
        self.outputs.push(described(&name, element, shape, doc));
        self.nodes.push(NodeProto {
            input: vec![value.0.clone()],
            output: vec![name.clone()],
            name: Some(format!("output {name}")),
            op_type: Some("Identity".into()),
            ..Default::default()
        });
    }

    pub fn node(&mut self, op: &str, inputs: &[&Val]) -> Val {
        self.node_of("", op, inputs, vec![])
    }

    pub fn node_with(&mut self, op: &str, inputs: &[&Val], attributes: Vec<AttributeProto>) -> Val {
        self.node_of("", op, inputs, attributes)
    }

    /// An operator of the domain `ML`.
    pub fn node_ml(&mut self, op: &str, inputs: &[&Val], attributes: Vec<AttributeProto>) -> Val {
        self.node_of(ML, op, inputs, attributes)
    }

    fn node_of(&mut self, domain: &str, op: &str, inputs: &[&Val], attribute: Vec<AttributeProto>) -> Val {
        let name = self.own_name(&format!("{op} {}", self.nodes.len()));
        self.nodes.push(NodeProto {
            input: inputs.iter().map(|v| v.0.clone()).collect(),
            output: vec![name.clone()],
            name: Some(name.clone()),
            op_type: Some(op.into()),
            attribute,
            domain: (!domain.is_empty()).then(|| domain.into()),
        });
        Val(name)
    }

    /// The same value under a name of its own, for whoever looks into the graph.
    pub fn named(&mut self, name: &str, value: &Val) -> Val {
        let name = self.own_name(name);
        self.nodes.push(NodeProto {
            input: vec![value.0.clone()],
            output: vec![name.clone()],
            name: Some(name.clone()),
            op_type: Some("Identity".into()),
            ..Default::default()
        });
        Val(name)
    }

    fn constant(&mut self, name: &str, element: Element, shape: &[usize], raw: Vec<u8>) -> Val {
        let name = self.own_name(name);
        self.constants.push(TensorProto {
            dims: shape.iter().map(|d| *d as i64).collect(),
            data_type: Some(element as i32),
            name: Some(name.clone()),
            raw_data: Some(raw),
        });
        Val(name)
    }

    fn next_constant(&self) -> String {
        format!("constant {}", self.constants.len())
    }

    pub fn floats(&mut self, shape: &[usize], values: &[f32]) -> Val {
        let name = self.next_constant();
        self.floats_named(&name, shape, values)
    }

    pub fn floats_named(&mut self, name: &str, shape: &[usize], values: &[f32]) -> Val {
        let raw = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.constant(name, Element::Float, shape, raw)
    }

    pub fn doubles(&mut self, shape: &[usize], values: &[f64]) -> Val {
        let name = self.next_constant();
        let raw = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.constant(&name, Element::Double, shape, raw)
    }

    pub fn ints(&mut self, values: &[i64]) -> Val {
        let name = self.next_constant();
        let raw = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.constant(&name, Element::Int64, &[values.len()], raw)
    }

    pub fn bools(&mut self, values: &[bool]) -> Val {
        let name = self.next_constant();
        let raw = values.iter().map(|v| u8::from(*v)).collect();
        self.constant(&name, Element::Bool, &[values.len()], raw)
    }

    fn scalar_of(&mut self, element: Element, bits: u64, raw: Vec<u8>) -> Val {
        let key = (element as i32, bits);
        if let Some(known) = self.scalars.get(&key) {
            return known.clone();
        }
        let name = self.next_constant();
        let value = self.constant(&name, element, &[], raw);
        self.scalars.insert(key, value.clone());
        value
    }

    /// A float without dimensions.
    pub fn scalar(&mut self, value: f64) -> Val {
        let value = value as f32;
        self.scalar_of(Element::Float, u64::from(value.to_bits()), value.to_le_bytes().to_vec())
    }

    pub fn double(&mut self, value: f64) -> Val {
        self.scalar_of(Element::Double, value.to_bits(), value.to_le_bytes().to_vec())
    }

    pub fn whole(&mut self, value: i64) -> Val {
        self.scalar_of(Element::Int64, value as u64, value.to_le_bytes().to_vec())
    }

    pub fn add(&mut self, a: &Val, b: &Val) -> Val {
        self.node("Add", &[a, b])
    }
    pub fn sub(&mut self, a: &Val, b: &Val) -> Val {
        self.node("Sub", &[a, b])
    }
    pub fn mul(&mut self, a: &Val, b: &Val) -> Val {
        self.node("Mul", &[a, b])
    }
    pub fn div(&mut self, a: &Val, b: &Val) -> Val {
        self.node("Div", &[a, b])
    }
    pub fn exp(&mut self, a: &Val) -> Val {
        self.node("Exp", &[a])
    }
    pub fn log(&mut self, a: &Val) -> Val {
        self.node("Log", &[a])
    }
    pub fn sqrt(&mut self, a: &Val) -> Val {
        self.node("Sqrt", &[a])
    }
    pub fn square(&mut self, a: &Val) -> Val {
        self.node("Mul", &[a, a])
    }
    pub fn negated(&mut self, a: &Val) -> Val {
        self.node("Neg", &[a])
    }
    /// a * s + b, for floats.
    pub fn affine(&mut self, a: &Val, s: f64, b: f64) -> Val {
        let mut out = a.clone();
        if s != 1.0 {
            let s = self.scalar(s);
            out = self.mul(&out, &s);
        }
        if b != 0.0 {
            let b = self.scalar(b);
            out = self.add(&out, &b);
        }
        out
    }
    /// Floats between `low` and `high`.
    pub fn clamp(&mut self, a: &Val, low: f64, high: f64) -> Val {
        let (low, high) = (self.scalar(low), self.scalar(high));
        self.node("Clip", &[a, &low, &high])
    }
    pub fn at_least(&mut self, a: &Val, low: f64) -> Val {
        let low = self.scalar(low);
        self.node("Max", &[a, &low])
    }
    pub fn choose(&mut self, condition: &Val, yes: &Val, no: &Val) -> Val {
        self.node("Where", &[condition, yes, no])
    }
    pub fn and(&mut self, a: &Val, b: &Val) -> Val {
        self.node("And", &[a, b])
    }
    pub fn or(&mut self, a: &Val, b: &Val) -> Val {
        self.node("Or", &[a, b])
    }
    pub fn not(&mut self, a: &Val) -> Val {
        self.node("Not", &[a])
    }
    pub fn cast(&mut self, a: &Val, to: Element) -> Val {
        self.node_with("Cast", &[a], vec![int("to", to as i64)])
    }
    /// Means over axes, which fall away.
    pub fn mean(&mut self, a: &Val, axes: &[i64]) -> Val {
        self.node_with("ReduceMean", &[a], vec![ints("axes", axes), int("keepdims", 0)])
    }
    /// The sum over the last axis, which falls away.
    pub fn sum_last(&mut self, a: &Val) -> Val {
        let axis = self.ints(&[-1]);
        self.node_with("ReduceSum", &[a, &axis], vec![int("keepdims", 0)])
    }
    pub fn unsqueeze(&mut self, a: &Val, axis: i64) -> Val {
        let axis = self.ints(&[axis]);
        self.node("Unsqueeze", &[a, &axis])
    }
    /// 0 keeps a dimension, one -1 takes what is left.
    pub fn reshape(&mut self, a: &Val, shape: &[i64]) -> Val {
        let shape = self.ints(shape);
        self.node("Reshape", &[a, &shape])
    }
    pub fn transpose(&mut self, a: &Val, order: &[i64]) -> Val {
        self.node_with("Transpose", &[a], vec![ints("perm", order)])
    }
    pub fn concat(&mut self, parts: &[Val], axis: i64) -> Val {
        match parts {
            [one] => one.clone(),
            _ => self.node_with("Concat", &parts.iter().collect::<Vec<_>>(), vec![int("axis", axis)]),
        }
    }
    /// Number `at` of the last axis, which falls away.
    pub fn pick(&mut self, a: &Val, at: usize) -> Val {
        let at = self.whole(at as i64);
        self.node_with("Gather", &[a, &at], vec![int("axis", -1)])
    }
    /// Numbers `from .. to` of the last axis.
    pub fn part(&mut self, a: &Val, from: usize, to: usize) -> Val {
        let (from, to, axis) = (self.ints(&[from as i64]), self.ints(&[to as i64]), self.ints(&[-1]));
        self.node("Slice", &[a, &from, &to, &axis])
    }
    pub fn softmax(&mut self, a: &Val) -> Val {
        self.node_with("Softmax", &[a], vec![int("axis", -1)])
    }

    /// The finished graph.
    pub fn finish(self, name: &str, doc: &str) -> GraphProto {
        GraphProto {
            node: self.nodes,
            name: Some(name.into()),
            initializer: self.constants,
            doc_string: Some(doc.into()),
            input: self.inputs,
            output: self.outputs,
        }
    }
}
