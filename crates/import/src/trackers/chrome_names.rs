//! The names for Chrome's types of processes and threads (rules J8, J9).

/// By the number of the type; the first type has no name.
const PROCESSES: [&str; 43] = [
    "",
    "Browser",
    "Renderer",
    "Utility",
    "SandboxHelper",
    "PROCESS_SANDBOX_HELPER",
    "Gpu",
    "PpapiPlugin",
    "PpapiBroker",
    "Service: network.mojom.NetworkService",
    "Service: tracing.mojom.TracingService",
    "Service: storage.mojom.StorageService",
    "Service: audio.mojom.AudioService",
    "Service: data_decoder.mojom.DataDecoderService",
    "Service: chrome.mojom.UtilWin",
    "Service: proxy_resolver.mojom.ProxyResolverFactory",
    "Service: media.mojom.CdmServiceBroker",
    "Service: video_capture.mojom.VideoCaptureService",
    "Service: unzip.mojom.Unzipper",
    "Service: mirroring.mojom.MirroringService",
    "Service: patch.mojom.FilePatcher",
    "Service: chromeos.tts.mojom.TtsService",
    "Service: printing.mojom.PrintingService",
    "Service: quarantine.mojom.Quarantine",
    "Service: chromeos.local_search_service.mojom.LocalSearchService",
    "Service: chromeos.assistant.mojom.AssistantAudioDecoderFactory",
    "Service: chrome.mojom.FileUtilService",
    "Service: printing.mojom.PrintCompositor",
    "Service: paint_preview.mojom.PaintPreviewCompositorCollection",
    "Service: media.mojom.SpeechRecognitionService",
    "Service: device.mojom.XRDeviceService",
    "Service: chrome.mojom.UtilReadIcon",
    "Service: language_detection.mojom.LanguageDetectionService",
    "Service: sharing.mojom.Sharing",
    "Service: chrome.mojom.MediaParserFactory",
    "Service: qrcode_generator.mojom.QRCodeService",
    "Service: chrome.mojom.ProfileImport",
    "Service: chromeos.ime.mojom.ImeService",
    "Service: recording.mojom.RecordingService",
    "Service: shape_detection.mojom.ShapeDetectionService",
    "Extension Renderer",
    "Service: media.mojom.MediaFoundationServiceBroker",
    "PROCESS_RENDERER_TOP_WEBUI",
];

/// By the number of the type; an empty text is no name.
const THREADS: [&str; 53] = [
    "",
    "CrProcessMain",
    "ChromeIOThread",
    "ThreadPoolBackgroundWorker&",
    "ThreadPoolForegroundWorker&",
    "ThreadPoolSingleThreadForegroundBlocking&",
    "ThreadPoolSingleThreadBackgroundBlocking&",
    "ThreadPoolService",
    "Compositor",
    "VizCompositorThread",
    "CompositorTileWorker&",
    "ServiceWorkerThread&",
    "NetworkService",
    "Chrome_ChildIOThread",
    "Chrome_IOThread",
    "CrBrowserMain",
    "CrRendererMain",
    "CrUtilityMain",
    "CrGpuMain",
    "CacheThread_BlockFile",
    "Media",
    "AudioOutputDevice",
    "AudioInputDevice",
    "GpuMemoryThread",
    "GpuVSyncThread",
    "DXVAVideoDecoderThread",
    "BrowserWatchdog",
    "WebRTC_Network",
    "Window owner thread",
    "WebRTC_Signaling",
    "WebRTC_Worker",
    "CrPPAPIMain",
    "GpuWatchdog",
    "swapper",
    "Gamepad polling thread",
    "WebCrypto",
    "Database thread",
    "Proxy Resolver",
    "Chrome_DevToolsADBThread",
    "NetworkConfigWatcher",
    "wasapi_render_thread",
    "LoaderLockSampler",
    "VSyncThread",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "MemoryInfra",
    "StackSamplingProfiler",
    "CompositorGpuThread",
];

/// The types of processes that show pages.
const RENDERER: u32 = 2;
const EXTENSION_RENDERER: u32 = 40;

fn name(names: &[&'static str], number: u32) -> Option<&'static str> {
    let name = names.get(usize::try_from(number).ok()?).copied();
    name.filter(|name| !name.is_empty())
}

/// The name for a type of processes.
pub(super) fn of_process(kind: u32) -> Option<&'static str> {
    name(&PROCESSES, kind)
}

/// Whether a type of processes shows pages: then the name takes precedence over Chrome's own.
pub(super) fn is_renderer(kind: u32) -> bool {
    matches!(kind, RENDERER | EXTENSION_RENDERER)
}

/// The name for a type of threads.
pub(super) fn of_thread(kind: u32) -> Option<&'static str> {
    name(&THREADS, kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn j8_j9_types_have_names_by_their_numbers() {
        assert_eq!(of_process(0), None);
        assert_eq!(of_process(1), Some("Browser"));
        assert_eq!(of_process(40), Some("Extension Renderer"));
        assert_eq!(of_process(43), None);
        assert_eq!(of_process(u32::MAX), None);
        assert_eq!(of_thread(0), None);
        assert_eq!(of_thread(4), Some("ThreadPoolForegroundWorker&"));
        assert_eq!(of_thread(42), Some("VSyncThread"));
        assert_eq!((of_thread(43), of_thread(49)), (None, None));
        assert_eq!(of_thread(52), Some("CompositorGpuThread"));
        assert_eq!(of_thread(53), None);
    }
}
