//! The steps that describe an import, and in the same way a rewriting: its traces and options.

/// Builds a struct of `sources`, `options` and `monitor` step by step.
macro_rules! steps {
    ($name:ident $(, $field:ident: $value:expr)?) => {
        impl<'m> $name<'m> {
            /// Reads a file: a trace, compressed or not, or an archive of traces.
            pub fn new(path: impl Into<std::path::PathBuf>) -> Self {
                $name::from_files([path])
            }

            /// Reads several files, and puts them on one timeline (rules X).
            pub fn from_files<P: Into<std::path::PathBuf>>(
                paths: impl IntoIterator<Item = P>,
            ) -> Self {
                $name::from_sources(paths.into_iter().map(|path| Source::File(path.into())))
            }

            fn from_sources(sources: impl IntoIterator<Item = Source>) -> Self {
                $name {
                    sources: sources.into_iter().collect(),
                    options: Options::default(),
                    monitor: None,
                    $($field: $value,)?
                }
            }

            /// The conversion of readings to trace time; the default is by the nearest snapshot.
            pub fn conversion(mut self, conversion: timebase_import::Conversion) -> Self {
                self.options.conversion = conversion;
                self
            }

            /// A manifest that relates several files (rules X30 to X40).
            pub fn manifest(mut self, path: impl Into<std::path::PathBuf>) -> Self {
                self.options.manifest = Some(path.into());
                self
            }

            /// Reads a file that consists of several recordings, one after the other, as several files
            /// (rule X45).
            pub fn split(mut self) -> Self {
                self.options.split = true;
                self
            }

            /// Replaces an existing file.
            pub fn overwrite(mut self) -> Self {
                self.options.overwrite = true;
                self
            }

            /// The limit for the new file and the temporary files together, in bytes.
            pub fn max_size(mut self, bytes: u64) -> Self {
                self.options.max_size = Some(timebase_import::Size(bytes));
                self
            }

            /// The limit for memory in bytes, in addition to the memory of the process at the start; the
            /// default is 4 GiB.
            pub fn max_memory(mut self, bytes: u64) -> Self {
                self.options.max_memory = Some(timebase_import::Size(bytes));
                self
            }

            /// The receiver of the progress, which can end it from another thread.
            pub fn monitor(mut self, monitor: &'m Monitor) -> Self {
                self.monitor = Some(monitor);
                self
            }
        }

        impl std::fmt::Debug for $name<'_> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name))
                    .field("sources", &self.sources)
                    .field("options", &self.options)
                    .finish_non_exhaustive()
            }
        }
    };
}
pub(crate) use steps;
