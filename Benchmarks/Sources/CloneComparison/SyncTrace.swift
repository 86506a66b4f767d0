import BenchmarkSupport
import Foundation
import PhotoStores

/// Traces a clone's system calls with strace: the writes to the store's files and the syncs before it returned.
struct SyncTrace {
  let lab: Lab

  func look(at run: Run, _ source: String, _ recipe: GraphRecipe) throws -> SyncResult {
    guard let strace = Command.find("strace") else { throw PeerFailure("strace is not installed") }
    let trace = lab.folder + "/trace"
    defer { unlink(trace) }
    let wrapper = SystemCallTrace.wrapper(strace: strace, output: trace)
    _ = try lab.measure(run, source, recipe, wrapper: wrapper) { request in
      request.marks = true
      request.samplesMemory = false
      request.warmUpPath = nil
    }
    guard let text = FileManager.default.contents(atPath: trace) else { throw PeerFailure("strace wrote nothing") }
    let calls = SystemCallTrace(String(decoding: text, as: UTF8.self), folder: lab.folder)
    return SyncResult(
      peer: run.peer, calls: calls.counts, bytesWritten: calls.bytesWritten, reachesDisk: calls.reachesDisk)
  }
}
