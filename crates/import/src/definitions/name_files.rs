//! The files of the user with names for frames and classes: symbols (rules SB) and mappings (rules DM).

use timebase_symbols::{MappingFile, SymbolFiles};

use crate::error::Error;
use crate::options::Options;

/// The files with names.
#[derive(Debug, Default)]
pub(crate) struct NameFiles {
    pub symbols: SymbolFiles,
    pub mappings: Vec<MappingFile>,
}

impl NameFiles {
    /// The files of an import, each of which can be opened.
    ///
    /// # Errors
    ///
    /// If one is not there, or is no mapping.
    pub fn open(options: &Options) -> Result<NameFiles, Error> {
        let symbols = SymbolFiles::new(&options.symbols)?;
        for mapping in &options.mappings {
            mapping.check()?;
        }
        Ok(NameFiles { symbols, mappings: options.mappings.clone() })
    }
}
