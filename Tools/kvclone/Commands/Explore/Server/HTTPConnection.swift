#if Explorer
  import FlyingSocks
  import Foundation
  import KVCloneExplorer

  /// A connection of a client: one request after the other, each with its response.
  struct HTTPConnection: Sendable {
    let socket: AsyncSocket
    let pool: any AsyncSocketPool
    let place: ConnectionTable.Place
    let explorer: Explorer
    let options: ExplorerOptions
    let launchCode: LaunchCode?
    let budget: ResponseBudget

    /// The most bytes that are given to the system at once: a client that takes fewer in the time of
    /// ``ConnectionTable/Phase/sending`` is too slow.
    private static let writeSize = 64 << 10

    private struct Request {
      var head: HTTPRequestHead
      var body: [UInt8]
    }

    /// Serves requests until either side ends the connection, or the task is cancelled. Does not close the socket.
    func serve() async {
      var parser = HTTPRequestParser(targetLimit: options.maximumTargetSize)
      do {
        while let request = try await validRequest(&parser) {
          if try await answer(request) { continue }
          return await drain()
        }
      } catch {
        // The client has closed the connection, or its time is over. No error can follow a response that has begun:
        // the client would take it for a part of it.
      }
    }

    /// Returns nil at the end of the connection, and after the refusal of a request.
    private func validRequest(_ parser: inout HTTPRequestParser) async throws -> Request? {
      do {
        return try await nextRequest(&parser)
      } catch let refusal as HTTPRefusal {
        if (try? await write(Self.bytes(refusal))) != nil { await drain() }
      } catch is CancellationError where parser.hasBytes {
        // In the cancelled task only without waiting.
        _ = try? socket.socket.write(Data(Self.bytes(.timeout)))
      }
      return nil
    }

    private static func bytes(_ refusal: HTTPRefusal) -> [UInt8] {
      let text = Array((refusal.message + "\n").utf8)
      let response = ExplorerResponse(
        status: refusal.status,
        headers: [("Content-Type", "text/plain; charset=utf-8"), ("X-Content-Type-Options", "nosniff")],
        body: .bytes(text))
      return HTTPResponseHead.bytes(response, .length(text.count), closes: true) + text
    }

    // MARK: Requests

    /// Returns nil at the end of the connection.
    private func nextRequest(_ parser: inout HTTPRequestParser) async throws -> Request? {
      var isReceiving = parser.hasBytes
      place.enter(isReceiving ? .receiving : .idle)
      var found = try parser.nextHead()
      while found == nil {
        guard try await read(into: &parser) else { return nil }
        if !isReceiving { place.enter(.receiving) }
        isReceiving = true
        found = try parser.nextHead()
      }
      guard let head = found else { return nil }
      let size = try head.bodySize(atMost: options.maximumBodySize)
      var body = parser.nextBody(size)
      if body == nil, head.expectsContinue { try await socket.write(Data("HTTP/1.1 100 Continue\r\n\r\n".utf8)) }
      while body == nil {
        guard try await read(into: &parser) else { return nil }
        body = parser.nextBody(size)
      }
      return Request(head: head, body: body ?? [])
    }

    /// Returns false at the end of the connection.
    private func read(into parser: inout HTTPRequestParser) async throws -> Bool {
      do {
        parser.append(try await socket.read(atMost: 4096))
        return true
      } catch SocketError.disconnected {
        return false
      }
    }

    // MARK: Responses

    /// Returns whether the connection stays open.
    private func answer(_ request: Request) async throws -> Bool {
      place.enter(.answering)
      // A change that began is completed.
      if request.head.method == "POST" { return try await respond(to: request) }
      return try await withThrowingTaskGroup(of: Bool.self) { group in
        group.addTask { try await respond(to: request) }
        group.addTask { try await waitForDisconnection() }
        defer { group.cancelAll() }
        return try await group.next() ?? false
      }
    }

    private func respond(to request: Request) async throws -> Bool {
      let head = request.head
      let response = await explorer.respond(
        to: ExplorerRequest(
          method: head.method, path: head.path, query: launchCode?.query(for: head) ?? head.query,
          headers: head.fields.map { ($0.name, $0.value) }, body: request.body))
      var byteCount = 0
      if case .bytes(let bytes) = response.body { byteCount = bytes.count }
      guard let reservation = budget.reserve(byteCount) else {
        try await write(Self.bytes(.tooManyResponses))
        return false
      }
      defer { withExtendedLifetime(reservation) {} }
      let framing = HTTPFraming(response, for: head)
      let keepsAlive = head.keepsAlive && framing != .untilClose
      let start = HTTPResponseHead.bytes(response, framing, closes: !keepsAlive)
      let hasBody = head.method != "HEAD" && framing != .none
      switch response.body {
      case .bytes(let bytes):
        // With the head in one packet, and without a copy of a large page.
        let first = hasBody ? bytes.prefix(Self.writeSize) : []
        try await write(start + first)
        if hasBody { try await write(bytes[first.endIndex...]) }
      case .stream(let chunks):
        try await write(start)
        if hasBody { try await send(chunks, framing) }
      }
      return keepsAlive
    }

    /// - Throws: also if the length of the stream differs from the announced one. The connection then closes, which the
    ///   client detects.
    private func send(_ chunks: AsyncThrowingStream<[UInt8], any Error>, _ framing: HTTPFraming) async throws {
      var rest: Int? = if case .length(let size) = framing { size } else { nil }
      for try await chunk in chunks where !chunk.isEmpty {
        if let size = rest {
          guard chunk.count <= size else { throw SocketError.disconnected }
          rest = size - chunk.count
        }
        if framing == .chunked {
          try await write(Array("\(String(chunk.count, radix: 16))\r\n".utf8) + chunk + [13, 10])
        } else {
          try await write(chunk)
        }
        // While the stream waits, the client is not the slow one.
        place.enter(.answering)
      }
      // A cancelled stream ends without an error.
      try Task.checkCancellation()
      guard rest ?? 0 == 0 else { throw SocketError.disconnected }
      if framing == .chunked { try await write(Array("0\r\n\r\n".utf8)) }
    }

    private func write(_ bytes: some RandomAccessCollection<UInt8>) async throws {
      var rest = bytes[...]
      while !rest.isEmpty {
        place.enter(.sending)
        try await socket.write(Data(rest.prefix(Self.writeSize)))
        rest = rest.dropFirst(Self.writeSize)
      }
    }

    // MARK: The end

    /// Throws when the client closes the connection, and otherwise waits for cancellation.
    private func waitForDisconnection() async throws -> Bool {
      while true {
        var byte: UInt8 = 0
        let count = recv(socket.socket.file.rawValue, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
        switch (count, errno) {
        case (1, _):
          // The next request, which waits for this one.
          try await Task.sleep(for: .seconds(3600))
        case (-1, EAGAIN): try await pool.suspendSocket(socket.socket, untilReadyFor: .read)
        case (-1, EINTR): continue
        default: throw SocketError.disconnected
        }
      }
    }

    /// Reads what the client still sends, up to a limit: closing a socket with unread bytes would discard the response.
    private func drain() async {
      place.enter(.closing)
      shutdown(socket.socket.file.rawValue, Int32(SHUT_WR))
      var rest = 256 << 10
      while rest > 0, let bytes = try? await socket.read(atMost: 4096) { rest -= bytes.count }
    }
  }
#endif
