// An inbox for a store: every file INBOX/NAME.ndjson is loaded, whole or not at all, and moved to INBOX/done or INBOX/refused.
//
//     swift build --traits Service --product KVCloneInbox
//     .build/debug/KVCloneInbox STORE MODEL.xcdatamodeld INBOX
#if Service
  import Foundation
  import KVClone
  import KVCloneService
  import Logging
  import ServiceLifecycle

  /// Loads what is put into a folder.
  struct Inbox: Service {
    let store: StoreService
    let folder: URL
    let logger: Logger

    func run() async throws {
      for name in ["done", "refused"] {
        try FileManager.default.createDirectory(at: folder.appending(path: name), withIntermediateDirectories: true)
      }
      // A stop lets the file in work be finished, and begins no other.
      try await cancelWhenGracefulShutdown {
        while !Task.isCancelled {
          try await loadAll()
          try? await Task.sleep(for: .milliseconds(200))
        }
      }
    }

    private func loadAll() async throws {
      let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
      for file in files.sorted(by: { $0.path < $1.path }) where file.pathExtension == "ndjson" && !Task.isCancelled {
        let outcome = await load(file)
        // After the commit. Stopped between the two, the file would be loaded twice: give its objects a uniqueness constraint.
        try FileManager.default.moveItem(at: file, to: folder.appending(path: "\(outcome)/\(file.lastPathComponent)"))
      }
    }

    private func load(_ file: URL) async -> String {
      do {
        let result = try await store.load(contentsOf: file.path)
        logger.info("loaded", metadata: ["file": "\(file.lastPathComponent)", "objects": "\(result.objectCount)"])
        return "done"
      } catch {
        logger.warning("refused", metadata: ["file": "\(file.lastPathComponent)", "reason": "\(error)"])
        return "refused"
      }
    }
  }

  /// Writes what probes ask for: a file that is there while the service takes work, for `test -f` as a readiness probe.
  struct Readiness: Service {
    let store: StoreService
    let file: URL

    func run() async throws {
      defer { try? FileManager.default.removeItem(at: file) }
      try await cancelWhenGracefulShutdown {
        while !Task.isCancelled {
          if store.health().isReady {
            try Data().write(to: file)
          } else {
            try? FileManager.default.removeItem(at: file)
          }
          try? await Task.sleep(for: .milliseconds(200))
        }
      }
    }
  }

  let arguments = CommandLine.arguments
  guard arguments.count == 4 else {
    FileHandle.standardError.write(Data("usage: KVCloneInbox STORE MODEL.xcdatamodeld INBOX\n".utf8))
    exit(64)
  }
  let logger = Logger(label: "inbox")
  let model = try ManagedObjectModel.load(contentsOf: arguments[2]).model
  let store = StoreService(try ObjectStore.open(at: arguments[1], model: model), logger: logger)
  let folder = URL(fileURLWithPath: arguments[3])
  let group = ServiceGroup(
    services: [
      store, Inbox(store: store, folder: folder, logger: logger),
      Readiness(store: store, file: folder.appending(path: "ready")),
    ],
    gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
  try await group.run()
#else
  print("built without the trait: swift build --traits Service --product KVCloneInbox")
#endif
