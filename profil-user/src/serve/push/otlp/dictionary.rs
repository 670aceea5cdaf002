//! The tables that profiles of a request point to, each entry in them once.

use std::{collections::HashMap, hash::Hash, sync::Arc};

use super::schema;
use crate::serve::{ObjectLabel, Row, Spot};

/// The tables while they are filled.
#[derive(Debug, Default)]
pub(super) struct Dictionary {
    texts: Table<String>,
    attributes: Table<(i32, schema::Value)>,
    objects: Table<Arc<ObjectLabel>>,
    /// The end of the highest address, by object.
    limits: Vec<u64>,
    functions: Table<Arc<Spot>>,
    /// Each is a stack of one, too.
    locations: Table<(Arc<Spot>, u64)>,
}

/// Values by their places, which begin with 1.
#[derive(Debug)]
struct Table<T> {
    places: HashMap<T, i32>,
    values: Vec<T>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self {
            places: HashMap::new(),
            values: Vec::new(),
        }
    }
}

impl<T: Clone + Eq + Hash> Table<T> {
    fn place(&mut self, value: T) -> i32 {
        if let Some(place) = self.places.get(&value) {
            return *place;
        }
        self.values.push(value.clone());
        let place = i32::try_from(self.values.len()).unwrap_or_default();
        self.places.insert(value, place);
        place
    }
}

impl Dictionary {
    /// The place of a text; that of the empty one is 0.
    pub(super) fn text(&mut self, text: &str) -> i32 {
        if text.is_empty() {
            return 0;
        }
        self.texts.place(text.to_owned())
    }

    /// The place of an attribute.
    pub(super) fn attribute(&mut self, key: &str, value: schema::Value) -> i32 {
        let key = self.text(key);
        self.attributes.place((key, value))
    }

    /// The place of the stack that is a row's address alone.
    pub(super) fn stack(&mut self, row: &Row) -> i32 {
        let object = self.objects.place(Arc::clone(&row.spot.object)) as usize;
        if self.limits.len() < object {
            self.limits.resize(object, 0);
        }
        if let Some(limit) = self.limits.get_mut(object.wrapping_sub(1)) {
            *limit = (*limit).max(row.address.saturating_add(1));
        }
        self.functions.place(Arc::clone(&row.spot));
        self.locations.place((Arc::clone(&row.spot), row.address))
    }

    /// The tables themselves.
    pub(super) fn into_message(mut self) -> schema::Dictionary {
        let mut mapping_table = vec![schema::Mapping::default()];
        let objects = std::mem::take(&mut self.objects.values);
        for (object, limit) in objects.iter().zip(self.limits.clone()) {
            let path = if object.path.is_empty() {
                &object.name
            } else {
                &object.path
            };
            let id = object.build_id.map(|id| {
                let value = schema::Value::Text(id.to_string());
                self.attribute("process.executable.build_id.gnu", value)
            });
            mapping_table.push(schema::Mapping {
                memory_start: 0,
                memory_limit: limit,
                file_offset: 0,
                filename_strindex: self.text(path),
                attribute_indices: id.into_iter().collect(),
            });
        }
        let mut function_table = vec![schema::Function::default()];
        let functions = std::mem::take(&mut self.functions.values);
        for spot in &functions {
            let name_strindex = self.text(&spot.function);
            function_table.push(schema::Function { name_strindex });
        }
        let mut location_table = vec![schema::Location::default()];
        let mut stack_table = vec![schema::Stack::default()];
        let locations = std::mem::take(&mut self.locations.values);
        for (place, (spot, address)) in (1..).zip(locations) {
            let mapping_index = self.objects.places.get(&spot.object);
            let function_index = self.functions.places.get(&spot);
            location_table.push(schema::Location {
                mapping_index: mapping_index.copied().unwrap_or_default(),
                address,
                lines: vec![schema::Line {
                    function_index: function_index.copied().unwrap_or_default(),
                }],
            });
            stack_table.push(schema::Stack {
                location_indices: vec![place],
            });
        }
        let mut attribute_table = vec![schema::KeyValueAndUnit::default()];
        for (key_strindex, value) in self.attributes.values {
            attribute_table.push(schema::KeyValueAndUnit {
                key_strindex,
                value: Some(schema::AnyValue { value: Some(value) }),
            });
        }
        let mut string_table = vec![String::new()];
        string_table.extend(self.texts.values);
        schema::Dictionary {
            mapping_table,
            location_table,
            function_table,
            link_table: vec![schema::Link::default()],
            string_table,
            attribute_table,
            stack_table,
        }
    }
}
