import HTTPTypes
import Hummingbird
import KVCloneExplorer
import ServiceLifecycle

extension RouterMethods {
  /// Answers all requests of this group with the explorer.
  ///
  /// - Parameters:
  ///   - explorer: with the path of the group as its base path.
  ///   - maximumBodySize: that of the explorer's options, in bytes.
  func addExplorer(_ explorer: Explorer, maximumBodySize: Int) {
    for method in [HTTPRequest.Method.get, .head, .post] {
      for path in ["", "**"] as [RouterPath] {
        on(path, method: method) { request, _ in
          let body = try await request.body.collect(upTo: maximumBodySize)
          let response = await explorer.respond(to: ExplorerRequest(request, body: body))
          return Response(response, of: explorer, isHead: method == .head)
        }
      }
    }
  }
}

extension ExplorerRequest {
  init(_ request: Request, body: ByteBuffer) {
    var headers = request.headers.map { (name: $0.name.rawName, value: $0.value) }
    // HTTPTypes keeps the field apart from the others.
    if let host = request.head.authority { headers.append(("Host", host)) }
    self.init(
      method: request.method.rawValue, path: request.uri.path, query: request.uri.query ?? "", headers: headers,
      body: Array(body.readableBytesView))
  }
}

extension Response {
  init(_ response: ExplorerResponse, of explorer: Explorer, isHead: Bool) {
    var fields = HTTPFields()
    for header in response.headers {
      if let name = HTTPField.Name(header.name) { fields.append(HTTPField(name: name, value: header.value)) }
    }
    let body: ResponseBody
    switch response.body {
    case _ where isHead: body = ResponseBody()
    case .bytes(let bytes): body = ResponseBody(byteBuffer: ByteBuffer(bytes: bytes))
    case .stream(let chunks):
      // The next chunk is read after this one was written: a slow client needs no memory.
      body = ResponseBody(contentLength: fields[.contentLength].flatMap { Int($0) }) { writer in
        // Live updates otherwise end only with their client, and the service waits for them.
        try await withGracefulShutdownHandler {
          for try await chunk in chunks { try await writer.write(ByteBuffer(bytes: chunk)) }
          try await writer.finish(nil)
        } onGracefulShutdown: {
          explorer.shutdown()
        }
      }
    }
    self.init(status: HTTPResponse.Status(code: response.status), headers: fields, body: body)
  }
}
