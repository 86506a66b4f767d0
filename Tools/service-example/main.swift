// An inbox for a store: every file INBOX/NAME.ndjson is loaded once, whole or not at all, and put aside.
//
//     swift build --traits Service --product KVCloneInbox
//     .build/debug/KVCloneInbox STORE MODEL.xcdatamodeld INBOX [READY]
//
// What counts is a file that gets its name when it is whole, and stands alone: write NAME.part beside it, and rename that
// (`mv NAME.part NAME.ndjson`). A file goes through INBOX/work, and ends in
//
//     done      its objects are in the store
//     refused   its content is wrong, the log says where; nothing of it is in the store
//     unsure    the process ended, or the disk failed, while it was in work/: look in the store before it is put back
//
// An inbox is for one process: it takes what it finds in work/ at its start for what an earlier one has left.
//
// READY is a file that is there while the service takes work; by default `ready` in systemd's RUNTIME_DIRECTORY, else none.
#if Service
  import Foundation
  import KVClone
  import KVCloneService
  import Logging
  import ServiceLifecycle

  /// Loads what is put into a folder.
  struct Inbox: Service {
    /// Where a file is; what the store could not take for now is back in the inbox itself.
    enum Place: String, CaseIterable {
      case work, done, refused, unsure
      case inbox = "."
    }

    let store: StoreService
    let folder: URL
    let logger: Logger

    func run() async throws {
      for place in Place.allCases {
        try FileManager.default.createDirectory(at: url(of: place), withIntermediateDirectories: true)
      }
      // What is in work/ now was there when an earlier process ended: before its commit or after it, nobody knows.
      for file in files(in: .work) { move(file, to: .unsure) }
      // A stop lets the file in work be finished, and begins no other.
      await cancelWhenGracefulShutdown {
        while !Task.isCancelled {
          let isDelayed = await loadAll()
          try? await Task.sleep(for: isDelayed ? .seconds(5) : .milliseconds(200))
        }
      }
    }

    /// Loads what there is, and returns whether something stands in the way and the rest has to wait.
    private func loadAll() async -> Bool {
      for file in files(in: .inbox) where !Task.isCancelled {
        // Before the load, so that nothing is loaded twice, whatever fails after it.
        guard let claimed = move(file, to: .work) else { return true }
        let outcome = await load(claimed)
        move(claimed, to: outcome)
        if outcome == .inbox { return true }
      }
      return false
    }

    /// Loads a file, and returns where it belongs now.
    private func load(_ file: URL) async -> Place {
      do {
        let result = try await store.load(contentsOf: file.path)
        logger.info("loaded", metadata: ["file": "\(file.lastPathComponent)", "objects": "\(result.objectCount)"])
        return .done
      } catch {
        let outcome = outcome(of: error)
        logger.warning(
          "not loaded",
          metadata: ["file": "\(file.lastPathComponent)", "to": "\(outcome.rawValue)", "reason": "\(error)"])
        return outcome
      }
    }

    /// Only what is wrong with the content is refused. Where the store is the obstacle, the file waits.
    private func outcome(of error: any Error) -> Place {
      let kind = (error as? any KVCloneError)?.kindName
      if kind == StoreError.Kind.commitOutcomeUnknown.rawValue { return .unsure }
      // In the middle of a load, an error of the store comes as one of the line that it was at.
      let obstacles: [StoreError.Kind] = [.busy, .closed, .readersFull, .corrupted, .mapFull, .diskFull, .io]
      if obstacles.contains(where: { $0.rawValue == kind }) { return .inbox }
      return error is TransferError || error is ValidationError ? .refused : .inbox
    }

    private func url(of place: Place) -> URL { place == .inbox ? folder : folder.appending(path: place.rawValue) }

    private func files(in place: Place) -> [URL] {
      do {
        return try FileManager.default.contentsOfDirectory(at: url(of: place), includingPropertiesForKeys: nil)
          .filter { $0.pathExtension == "ndjson" }.sorted { $0.path < $1.path }
      } catch {
        logger.error("a folder cannot be read", metadata: ["reason": "\(error)"])
        return []
      }
    }

    /// Moves a file, under a name that is free there; nil where that fails.
    @discardableResult
    private func move(_ file: URL, to place: Place) -> URL? {
      let stem = file.deletingPathExtension().lastPathComponent
      var target = url(of: place).appending(path: "\(stem).ndjson")
      var number = 1
      while FileManager.default.fileExists(atPath: target.path) {
        number += 1
        target = url(of: place).appending(path: "\(stem)-\(number).ndjson")
      }
      do {
        try FileManager.default.moveItem(at: file, to: target)
        if place == .unsure {
          logger.warning("nobody knows whether it was loaded", metadata: ["file": "\(target.lastPathComponent)"])
        }
        return target
      } catch {
        logger.error("a file cannot be moved", metadata: ["file": "\(file.lastPathComponent)", "reason": "\(error)"])
        return nil
      }
    }
  }

  /// Has a file while the service takes work, for `test -f` as a readiness probe. No failure of it ends the service.
  struct Readiness: Service {
    let store: StoreService
    let file: URL

    func run() async throws {
      defer { try? FileManager.default.removeItem(at: file) }
      await cancelWhenGracefulShutdown {
        while !Task.isCancelled {
          let isThere = FileManager.default.fileExists(atPath: file.path)
          if store.health().isReady != isThere {
            if isThere { try? FileManager.default.removeItem(at: file) } else { try? Data().write(to: file) }
          }
          try? await Task.sleep(for: .milliseconds(200))
        }
      }
    }
  }

  let arguments = CommandLine.arguments
  guard (4...5).contains(arguments.count) else {
    FileHandle.standardError.write(Data("usage: KVCloneInbox STORE MODEL.xcdatamodeld INBOX [READY]\n".utf8))
    exit(64)
  }
  let runtimeDirectory = ProcessInfo.processInfo.environment["RUNTIME_DIRECTORY"]
  let ready = (arguments.count == 5 ? arguments[4] : runtimeDirectory.map { $0 + "/ready" })
    .map { URL(fileURLWithPath: $0) }
  // One that was killed has left it: nobody is ready before the store is open.
  if let ready { try? FileManager.default.removeItem(at: ready) }
  let logger = Logger(label: "inbox")
  let model = try ManagedObjectModel.load(contentsOf: arguments[2]).model
  let store = StoreService(try ObjectStore.open(at: arguments[1], model: model), logger: logger)
  let inbox = Inbox(store: store, folder: URL(fileURLWithPath: arguments[3]), logger: logger)
  var services: [any Service] = [store, inbox]
  if let ready { services.append(Readiness(store: store, file: ready)) }
  let group = ServiceGroup(services: services, gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
  try await group.run()
#else
  print("built without the trait: swift build --traits Service --product KVCloneInbox")
#endif
