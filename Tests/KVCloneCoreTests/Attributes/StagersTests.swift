import Dispatch
import KVCloneRecords
import KVCloneTestSupport
import Synchronization
import Testing

@testable import KVCloneCore

@Suite("The bytes of staged uploads")
struct StagersTests {
  /// Holds bytes by owners like a server, and can make a call wait.
  private final class SlowLeases: UploadLeases {
    private struct State {
      var held: Set<UInt16> = []
      var waits = false
    }

    private let state = Mutex(State())
    let entered = DispatchSemaphore(value: 0)
    let go = DispatchSemaphore(value: 0)

    /// Makes the next call wait for `go`.
    func waitOnce() { state.withLock { $0.waits = true } }

    var held: Set<UInt16> { state.withLock { $0.held } }

    private func pause() {
      let waits = state.withLock { state in
        defer { state.waits = false }
        return state.waits
      }
      if !waits { return }
      entered.signal()
      go.wait()
    }

    func hold(_ byte: UInt16) throws(StoreError) -> Bool {
      pause()
      state.withLock { _ = $0.held.insert(byte) }
      return true
    }

    func release(_ byte: UInt16) {
      pause()
      state.withLock { _ = $0.held.remove(byte) }
    }
  }

  private let leases = SlowLeases()

  private func stagers() -> Stagers { Stagers(LeasingEngine(leases), isReadOnly: false) }

  /// Runs `body` on another thread until it waits in a call of the leases.
  private func begin(_ body: @escaping @Sendable () -> Void) -> DispatchGroup {
    let group = DispatchGroup()
    leases.waitOnce()
    DispatchQueue.global().async(group: group, execute: body)
    leases.entered.wait()
    return group
  }

  @Test("a slow release blocks no other upload, and its byte is not claimed before it has ended")
  func slowRelease() throws {
    let stagers = stagers()
    #expect(try stagers.claim(except: []) == 1)
    let other = begin { stagers.release(1) }
    #expect(!stagers.isOwn(1))
    // Otherwise the release would end the hold of the new upload.
    #expect(try stagers.claim(except: []) == 2)
    #expect(try !stagers.isGone(1))
    leases.go.signal()
    other.wait()
    #expect(leases.held == [2])
    #expect(try stagers.isGone(1))
    #expect(try stagers.claim(except: []) == 1)
    #expect(leases.held == [1, 2])
  }

  @Test("a byte that another thread tests is not claimed, and stays free afterwards")
  func slowTest() throws {
    let stagers = stagers()
    let other = begin { #expect((try? stagers.isGone(1)) == true) }
    #expect(try stagers.claim(except: []) == 2)
    leases.go.signal()
    other.wait()
    #expect(leases.held == [2])
  }

  @Test("a store that is closed while an upload begins holds no byte for it")
  func closedWhileClaiming() throws {
    let stagers = stagers()
    let other = begin { expectError(.closed) { _ = try stagers.claim(except: []) } }
    stagers.close()
    leases.go.signal()
    other.wait()
    #expect(leases.held.isEmpty)
  }

  @Test("a second release of a byte does not end the hold of a later upload")
  func doubleRelease() throws {
    let stagers = stagers()
    #expect(try stagers.claim(except: []) == 1)
    stagers.release(1)
    let other = begin { #expect((try? stagers.claim(except: [])) == 1) }
    stagers.release(1)
    #expect(try stagers.claim(except: []) == 2)
    leases.go.signal()
    other.wait()
    #expect(leases.held == [1, 2])
  }
}

/// An engine that is used for its leases only.
private final class LeasingEngine: StorageEngine {
  private let leases: any UploadLeases
  private let inner = MemoryStorage()

  init(_ leases: any UploadLeases) { self.leases = leases }

  func uploadLeases() throws(StoreError) -> (any UploadLeases)? { leases }

  func openTables(_ tables: [TableCode], create: Bool) throws(StoreError) -> [StorageTable] {
    try inner.openTables(tables, create: create)
  }

  func beginRead() throws(StoreError) -> any StorageBackend { try inner.beginRead() }

  func beginWrite(label: String, timeout: Duration, isDryRun: Bool) throws(StoreError) -> any StorageBackend {
    try inner.beginWrite(label: label, timeout: timeout, isDryRun: isDryRun)
  }

  func facts() throws(StoreError) -> StorageFacts { try inner.facts() }

  func close() { inner.close() }
}
