// An inbox for a store: loads every file INBOX/NAME.ndjson once, completely or not at all, and moves it to a folder.
//
//     swift build --traits Service --product KVCloneInbox
//     .build/debug/KVCloneInbox STORE MODEL.xcdatamodeld INBOX [READY]
//
// STORE is a directory or, in a build with `--traits Service,Postgres`, a URL such as postgresql://app@db/kv/NAME.
// Processes on several machines can use one store in a cluster, each with an inbox of its own.
//
// Write each file as NAME.part, and rename it when it is complete (`mv NAME.part NAME.ndjson`). A file must not refer
// to other files. It is moved to INBOX/work, and then to one of these folders:
//
//     done      its objects are in the store
//     refused   its content is invalid, and the log names the line; none of it is in the store
//     unsure    the process ended or the disk failed while the file was in work/: inspect the store, then move it back
//
// Run one process per inbox: at its start, it treats all files in work/ as leftovers of an earlier process.
//
// READY is a file that exists while the service is ready. Default: `ready` in systemd's RUNTIME_DIRECTORY, if set.
#if Service
  import Foundation
  import KVClone
  import KVCloneService
  import Logging
  import ServiceLifecycle

  /// Loads the files that appear in a folder.
  struct Inbox: Service {
    /// The folder of a file. A file that cannot be loaded yet returns to the inbox itself.
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
      // Files in work/ remain from an earlier process, which ended before or after its commit.
      for file in files(in: .work) { move(file, to: .unsure) }
      // A shutdown finishes the current file and starts no other.
      await cancelWhenGracefulShutdown {
        while !Task.isCancelled {
          let isDelayed = await loadAll()
          try? await Task.sleep(for: isDelayed ? .seconds(5) : .milliseconds(200))
        }
      }
    }

    /// Loads all files. Returns true if the store is unavailable and the remaining files have to wait.
    private func loadAll() async -> Bool {
      for file in files(in: .inbox) where !Task.isCancelled {
        // Moving the file before the load prevents a second load, whatever fails later.
        guard let claimed = move(file, to: .work) else { return true }
        let outcome = await load(claimed)
        move(claimed, to: outcome)
        if outcome == .inbox { return true }
      }
      return false
    }

    /// Loads a file and returns the folder to move it to.
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

    /// Refuses a file only if its content is invalid. If the store is unavailable, the file waits.
    private func outcome(of error: any Error) -> Place {
      let kind = (error as? any KVCloneError)?.kindName
      if kind == StoreError.Kind.commitOutcomeUnknown.rawValue { return .unsure }
      // During a load, an error of the store is reported as an error of the current line.
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

    /// Moves a file to an unused name in a folder. Returns nil if that fails.
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
          logger.warning("the file may have been loaded already", metadata: ["file": "\(target.lastPathComponent)"])
        }
        return target
      } catch {
        logger.error("a file cannot be moved", metadata: ["file": "\(file.lastPathComponent)", "reason": "\(error)"])
        return nil
      }
    }
  }

  /// Keeps a file while the service is ready, for readiness probes with `test -f`. Its errors are ignored.
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
  // A killed process leaves its file behind. Remove it, because this process is not ready yet.
  if let ready { try? FileManager.default.removeItem(at: ready) }
  let logger = Logger(label: "inbox")
  let model = try ManagedObjectModel.load(contentsOf: arguments[2]).model
  let store = StoreService(try openStore(at: arguments[1], model: model), logger: logger)
  let inbox = Inbox(store: store, folder: URL(fileURLWithPath: arguments[3]), logger: logger)
  var services: [any Service] = [store, inbox]
  if let ready { services.append(Readiness(store: store, file: ready)) }
  let group = ServiceGroup(services: services, gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
  try await group.run()
#else
  print("built without the trait: swift build --traits Service --product KVCloneInbox")
#endif
