/* Pages opened from disk may start no worker, which the search needs: here a hidden frame runs its script. */
if (location.protocol === "file:")
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      this.scope = frame.contentWindow
      this.scope.postMessage = data => this.dispatchEvent(new MessageEvent("message", {data}))
      this.scope.importScripts = async (...urls) => { for (const each of urls) await this.load(each) }
      this.ready = this.load(url)
    }
    load(url) {
      const script = this.scope.document.createElement("script")
      script.src = url
      return new Promise((done, failed) => {
        Object.assign(script, {onload: done, onerror: failed})
        this.scope.document.body.append(script)
      })
    }
    postMessage(data) {
      this.ready.then(() => this.scope.dispatchEvent(new MessageEvent("message", {data})))
    }
  }
