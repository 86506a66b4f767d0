import Dispatch
import KVCloneCore
import Synchronization

/// Lines that another thread reads and parses while the load inserts earlier ones.
///
/// Buffers a few chunks, so memory stays flat. Only that thread uses the source until it has ended.
final class ParsedLines {
  /// Consecutive lines.
  struct Chunk {
    /// Lines with their numbers.
    var lines: [(number: Int, line: ParsedLine)] = []
    /// The number of bytes read from the source so far.
    var byteCount: UInt64 = 0
  }

  /// The shared state of the two threads.
  private final class Channel: @unchecked Sendable {
    private struct State {
      var chunks: [Chunk] = []
      /// Chunks that the consumer has used. The thread that allocated their lines also frees them: otherwise, the two
      /// threads contend for the lock of its heap.
      var used: [Chunk] = []
      var failure: (any Error)?
      /// Whether the consumer has stopped.
      var isAbandoned = false
    }

    /// A chunk is one or two hundred kilobytes.
    static let capacity = 3

    private let state = Mutex(State())
    private let free = DispatchSemaphore(value: 0)
    private let filled = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)

    init() {
      // Not by the initial value: a semaphore that has less at its end than at its start traps.
      for _ in 0..<Self.capacity { free.signal() }
    }

    /// Adds a chunk, after waiting for space. Returns false if the consumer has stopped.
    func put(_ chunk: consuming Chunk) -> Bool {
      free.wait()
      let chunk = UncheckedBox(chunk)
      let (isWanted, used) = state.withLock { state in
        let used = UncheckedBox(state.used)
        state.used = []
        if state.isAbandoned { return (false, used) }
        state.chunks.append(chunk.value)
        return (true, used)
      }
      filled.signal()
      _ = consume used
      return isWanted
    }

    /// Ends the lines.
    func end(_ failure: (any Error)?) {
      state.withLock { $0.failure = failure }
      filled.signal()
      ended.signal()
    }

    /// Returns the used chunk, and takes the next one; nil at the end.
    func take(after used: consuming Chunk) throws -> Chunk? {
      filled.wait()
      let used = UncheckedBox(used)
      let (chunk, failure) = state.withLock { state -> (UncheckedBox<Chunk>?, (any Error)?) in
        state.used.append(used.value)
        if !state.chunks.isEmpty { return (UncheckedBox(state.chunks.removeFirst()), nil) }
        return (nil, state.failure)
      }
      if let failure { throw failure }
      guard let chunk else { return nil }
      free.signal()
      return chunk.value
    }

    /// Stops the other thread, and waits for its end.
    func abandon() {
      state.withLock { $0.isAbandoned = true }
      free.signal()
      ended.wait()
    }
  }

  /// Passes a value from one thread to the other, which alone uses it from then on.
  private struct UncheckedBox<Value>: @unchecked Sendable {
    let value: Value
    init(_ value: Value) { self.value = value }
  }

  /// A chunk ends after this many lines, or a number of bytes.
  private static let lineLimit = 256
  private static let byteLimit = 128 << 10

  private let channel = Channel()
  private var chunk = Chunk()
  private var place = 0
  private var isAtEnd = false
  /// The number of bytes read for the lines so far.
  private(set) var byteCount: UInt64 = 0

  private init() {}

  /// Reads lines while `body` runs.
  ///
  /// - Parameters:
  ///   - reader: the position to continue from; it ends behind the last line that was read.
  ///   - source: appends the next bytes of the text; called on another thread until this returns.
  static func read<R>(
    _ reader: inout LineReader, from source: LineReader.Source, _ parser: LineParser,
    _ body: (ParsedLines) throws -> R
  ) throws -> R {
    let lines = ParsedLines()
    return try withoutActuallyEscaping(source) { source in
      let work = Work(reader, source, parser)
      let channel = lines.channel
      DispatchQueue(label: "KVClone.parse").async { channel.end(work.run(channel)) }
      defer {
        channel.abandon()
        reader = work.reader
      }
      return try body(lines)
    }
  }

  /// The work of the other thread. Used by one thread at a time.
  private final class Work: @unchecked Sendable {
    private(set) var reader: LineReader
    private var source: LineReader.Source?
    private let parser: LineParser

    init(_ reader: LineReader, _ source: @escaping LineReader.Source, _ parser: LineParser) {
      self.reader = reader
      self.source = source
      self.parser = parser
    }

    /// Reads and parses all lines, and releases the source.
    ///
    /// - Returns: the error of the source, if it failed.
    func run(_ channel: Channel) -> (any Error)? {
      guard let source else { return nil }
      self.source = nil
      var failure: (any Error)?
      var hasMore = true
      while hasMore {
        var chunk = Chunk()
        chunk.lines.reserveCapacity(lineLimit)
        var byteCount = 0
        do {
          while hasMore, chunk.lines.count < lineLimit, byteCount < byteLimit {
            hasMore = try reader.next(from: source) { line, number in
              byteCount += line.count
              chunk.lines.append((number, parser.parse(line, number)))
            }
          }
        } catch {
          // Earlier lines come first.
          failure = error
          hasMore = false
        }
        chunk.byteCount = reader.byteCount
        if !chunk.lines.isEmpty, !channel.put(chunk) { break }
      }
      return failure
    }
  }

  /// The next line with its number; nil at the end.
  func next() throws -> (number: Int, line: ParsedLine)? {
    if isAtEnd { return nil }
    while place == chunk.lines.count {
      let used = chunk
      (chunk, place) = (Chunk(), 0)
      guard let next = try channel.take(after: used) else {
        isAtEnd = true
        return nil
      }
      chunk = next
      byteCount = next.byteCount
      place = 0
    }
    place += 1
    return chunk.lines[place - 1]
  }
}
