/// Routes of the style sheet, the script and the icon.
enum AssetRoutes {
  static let all: [Route] = [Asset.stylesheet, .script, .icon].map { asset in
    .get("/assets/\(asset.name)") { context in
      var response = ExplorerResponse(asset.contentType, asset.text)
      // A link without the version, or with an old one, must not keep the text.
      let isCurrent = context.query["v"] == asset.version
      response.headers.append(("Cache-Control", isCurrent ? "public, max-age=31536000, immutable" : "no-cache"))
      return .response(response)
    }
  }
}

extension Asset {
  static let stylesheet = Asset("explorer.css", "text/css; charset=utf-8", Stylesheet.text)
  static let script = Asset("explorer.js", "text/javascript; charset=utf-8", Script.text)
  static let icon = Asset("icon.svg", "image/svg+xml", Icon.text)
}
