// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package website

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// shop is a release of three waves, of which the second one does not become ready.
const shop = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: NAME-settings}, data: {theme: "THEME"}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME-frontend, annotations: {clm.cs.sap.com/apply-order: "1"}}
spec:
  replicas: 3
  selector: {matchLabels: {app: NAME-frontend}}
  template:
    metadata: {labels: {app: NAME-frontend}, annotations: {sandbox.component-operator.io/never-ready: "STUCK"}}
    spec: {terminationGracePeriodSeconds: 0, containers: [{name: main, image: example.com/frontend}]}
---
{apiVersion: v1, kind: Service, metadata: {name: NAME-frontend, annotations: {clm.cs.sap.com/apply-order: "2"}}, spec: {selector: {app: NAME-frontend}, ports: [{port: 80}]}}
`

// uiKit runs clm and kubectl in a sandbox of its own, and clm ui behind a proxy.
type uiKit struct {
	*testing.T

	// folder has the programs; they run in dir.
	folder, dir, kubeconfig, address string
	proxy                            *proxy
}

// startUI starts a sandbox and clm ui, whose address it returns.
func startUI(t *testing.T) *uiKit {
	t.Helper()
	folder, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	k := &uiKit{T: t, folder: folder, dir: t.TempDir(), kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	k.run("clm", "sandbox", "up")
	t.Cleanup(func() { k.run("clm", "sandbox", "down") })
	content, err := os.ReadFile(k.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	server := regexp.MustCompile(`127\.0\.0\.1:\d+`)
	k.proxy = newProxy(t, string(server.Find(content)))
	proxied := filepath.Join(t.TempDir(), "proxied")
	if err := os.WriteFile(proxied, server.ReplaceAll(content, []byte(k.proxy.address)), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	command := exec.CommandContext(ctx, filepath.Join(folder, "clm"), "ui", "-n", "default", "--allow-changes", "--kubeconfig", proxied)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	reader, writer := io.Pipe()
	command.Stdout, command.Stderr = writer, os.Stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(); _ = command.Wait() })
	line := make([]byte, 200)
	n, err := reader.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, reader) }()
	k.address = strings.TrimSpace(string(line[:n]))
	return k
}

// run runs a program in the sandbox, and returns what it prints. A release may be left that is
// not ready.
func (k *uiKit) run(program string, args ...string) string {
	k.Helper()
	command := exec.CommandContext(context.WithoutCancel(k.Context()), filepath.Join(k.folder, program), append(args, "--kubeconfig", k.kubeconfig)...)
	command.Dir, command.Env = k.dir, append(os.Environ(), "CI=true")
	output, err := command.CombinedOutput()
	const notReady = 3
	if failed, isExit := errors.AsType[*exec.ExitError](err); err != nil && (!isExit || failed.ExitCode() != notReady) {
		k.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, output)
	}
	return string(output)
}

// apply applies the release.
func (k *uiKit) apply(name, stuck, theme string) {
	k.Helper()
	if err := os.WriteFile(filepath.Join(k.dir, "shop.yaml"), []byte(strings.NewReplacer("NAME", name, "STUCK", stuck, "THEME", theme).Replace(shop)), 0o600); err != nil {
		k.Fatal(err)
	}
	k.run("clm", "apply", name, "shop.yaml", "--yes", "--timeout", "3s")
}

// page returns the address of a page about a release.
func (k *uiKit) page(path string) string {
	base, _, _ := strings.Cut(k.address, "/login")
	return base + path
}

// TestUI has a browser follow a release that waits, and correct drift and roll back by clicks.
func TestUI(t *testing.T) {
	t.Parallel()
	k := startUI(t)
	k.apply("shop", "true", "dark")
	ctx := browser(t)
	complained := complaints(ctx, t, k.page("/"))
	do := func(what string, actions ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		limited, stop := context.WithTimeout(ctx, time.Minute)
		defer stop()
		if err := chromedp.Do(limited, actions...); err != nil {
			body, _ := chromedp.Run(ctx, chromedp.Evaluate[string]("document.body.innerText"))
			t.Fatalf("%s: %v\n%s", what, err, body)
		}
	}
	shows := func(text string) chromedp.Action[chromedp.Void] {
		return chromedp.WaitVisible(fmt.Sprintf(`//*[contains(text(), %q)]`, text))
	}
	click := func(text string) chromedp.Action[chromedp.Void] {
		return chromedp.Click(fmt.Sprintf(`//main//*[self::a or self::button or self::summary][contains(., %q)]`, text))
	}
	check := func(name string) {
		t.Helper()
		do(name, prefer("prefers-color-scheme=light"))
		light, err := axeOn(ctx, "", chromedp.Evaluate[chromedp.Void](axe))
		dark, darkErr := axeOn(ctx, `, runOnly: ["color-contrast"]`, prefer("prefers-color-scheme=dark"))
		culprits, narrowErr := narrow(ctx)
		if err := errors.Join(err, darkErr, narrowErr); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, problem := range append(append(light, dark...), culprits...) {
			t.Errorf("%s: %s", name, problem)
		}
		for _, problem := range complained() {
			if !strings.Contains(problem, "ERR_INCOMPLETE_CHUNKED_ENCODING") {
				t.Errorf("%s: %s", name, problem)
			}
		}
	}

	do("the list, then the tree", chromedp.Navigate(k.address), chromedp.WaitVisible(`//a[text()="shop"]`), shows("live"))
	check("list")
	do("the wave that waits names its blocker", click("shop"), shows("waits for wave 1: Deployment default/shop-frontend is not ready"), chromedp.WaitVisible("#cause"))
	check("tree")

	// What the user has closed stays closed when the page changes.
	do("close a wave", click("wave 0"))
	k.run("kubectl", "label", "configmap", "shop-settings", "seen=yes")
	k.apply("shop", "false", "dark")
	do("it becomes ready", chromedp.WaitVisible(`//dd/span[@class="green" and text()="Ready"]`))
	if open, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`document.getElementById("wave.0").open`)); err != nil || open {
		t.Errorf("the wave that was closed is open: %t, %v", open, err)
	}

	do("timeline", click("timeline"), chromedp.WaitVisible("#timeline"))
	check("timeline")
	k.run("kubectl", "patch", "configmap", "shop-settings", "--type=merge", "-p", `{"data":{"theme":"pink"}}`)
	do("drift", click("drift"), shows("+  theme: pink"))
	check("drift")
	do("the plan of the correction", click("Correct drift…"), shows("-  theme: pink"))
	check("plan")
	do("the correction", click("Correct the drift"), chromedp.WaitVisible("#job.green"))
	if theme := k.run("kubectl", "get", "configmap", "shop-settings", "-o", "jsonpath={.data.theme}"); theme != "dark" {
		t.Errorf("the drift was not corrected: %s", theme)
	}
	k.apply("shop", "false", "light")
	do("rollback", click("history"), chromedp.WaitVisible("#revision-3"), chromedp.Click("#revision-2 button"), shows("-  theme: light"), click("Roll back"), chromedp.WaitVisible("#job.green"))
	if theme := k.run("kubectl", "get", "configmap", "shop-settings", "-o", "jsonpath={.data.theme}"); theme != "dark" {
		t.Errorf("the release was not rolled back: %s", theme)
	}
	do("history", click("history"), chromedp.WaitVisible("#revision-4"))
	check("history")

	// The API server goes, and comes back.
	do("tree", click("tree"), shows("live"))
	complained()
	k.proxy.close()
	do("it is gone", chromedp.WaitVisible(`//*[@id="connection"][contains(., "reconnecting")]`), shows("wave 0"))
	k.proxy.open()
	do("it is back", chromedp.WaitVisible(`//*[@id="connection"][text()="live"]`))
	k.run("kubectl", "delete", "service", "shop-frontend")
	do("it is followed again", shows("Degraded"))
}

// proxy forwards connections to an API server, as long as it is open.
type proxy struct {
	testing.TB
	address, to string

	mu       sync.Mutex
	listener net.Listener
	all      []net.Conn
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	p := &proxy{TB: t, address: "127.0.0.1:0", to: to}
	p.open()
	t.Cleanup(p.close)
	return p
}

// open accepts connections, always at the same address.
func (p *proxy) open() {
	p.Helper()
	listener, err := (&net.ListenConfig{}).Listen(context.WithoutCancel(p.Context()), "tcp", p.address)
	if err != nil {
		p.Fatal(err)
	}
	p.listener, p.address = listener, listener.Addr().String()
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			there, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", p.to)
			if err != nil {
				_ = from.Close()
				continue
			}
			p.mu.Lock()
			p.all = append(p.all, from, there)
			p.mu.Unlock()
			go func() { _, _ = io.Copy(from, there); _ = from.Close() }()
			go func() { _, _ = io.Copy(there, from); _ = there.Close() }()
		}
	}()
}

// close ends all connections, and refuses others.
func (p *proxy) close() {
	_ = p.listener.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, connection := range p.all {
		_ = connection.Close()
	}
	p.all = nil
}

// slow is a release of three waves, of which the second one is ready when a condition is set.
const slow = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: options}}
---
apiVersion: v1
kind: Service
metadata: {name: gateway, annotations: {clm.cs.sap.com/apply-order: "1", clm.cs.sap.com/status-hint: conditions=Open}}
spec: {ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: backend, annotations: {clm.cs.sap.com/apply-order: "1"}}
spec:
  selector: {matchLabels: {app: backend}}
  template: {metadata: {labels: {app: backend}}, spec: {containers: [{name: main, image: example.com/backend}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: backend, annotations: {clm.cs.sap.com/apply-order: "2"}}, spec: {selector: {app: backend}, ports: [{port: 80}]}}
`

// TestUIScreenshots takes pictures of clm ui, for people to look at and for the page about it.
func TestUIScreenshots(t *testing.T) {
	if *screenshots == "" {
		t.Skip("run it with -screenshots FOLDER")
	}
	k := startUI(t)
	k.apply("shop", "true", "dark")
	var objects strings.Builder
	for i := range 10000 {
		fmt.Fprintf(&objects, "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: part-%04d, annotations: {clm.cs.sap.com/apply-order: %q}}}\n", i, fmt.Sprint(i/2500))
	}
	const widgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`
	for name, content := range map[string]string{
		"slow.yaml": slow, "many.yaml": objects.String(), "types.yaml": widgets, "widget.yaml": "{apiVersion: example.com/v1, kind: Widget, metadata: {name: precious}}",
	} {
		if err := os.WriteFile(filepath.Join(k.dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	k.run("clm", "apply", "slow", "slow.yaml", "--yes", "--timeout", "7s")
	open := fmt.Sprintf(`{"status":{"conditions":[{"type":"Open","status":"True","reason":"Open","message":"","lastTransitionTime":%q}]}}`, time.Now().UTC().Format(time.RFC3339))
	k.run("kubectl", "patch", "service", "gateway", "--subresource=status", "--type=merge", "-p", open)
	k.run("clm", "apply", "slow", "slow.yaml", "--yes", "--timeout", "1m")
	k.run("clm", "apply", "many", "many.yaml", "--yes")
	k.run("clm", "apply", "types", "types.yaml", "--yes")
	k.run("kubectl", "apply", "-f", "widget.yaml")
	ctx := browser(t)
	if err := chromedp.Do(ctx, chromedp.Navigate(k.address), chromedp.WaitVisible("section")); err != nil {
		t.Fatal(err)
	}
	deletion := chromedp.Click(`//button[@value="delete"]`)
	for name, page := range map[string]struct {
		path, ready string
		before      []chromedp.Action[chromedp.Void]
	}{
		"list":     {path: "/", ready: "section"},
		"waiting":  {path: k.release("shop", "tree"), ready: "#cause"},
		"timeline": {path: k.release("slow", "timeline"), ready: "#timeline"},
		"many":     {path: k.release("many", "tree"), ready: "#wave\\.3"},
		"refused":  {path: k.release("types", "tree"), ready: "p.red", before: []chromedp.Action[chromedp.Void]{chromedp.WaitVisible(".wave"), deletion}},
	} {
		for _, theme := range []string{"light", "dark"} {
			for size, width := range map[string]int64{"wide": 1100, "narrow": 390} {
				actions := append([]chromedp.Action[chromedp.Void]{
					chromedp.EmulateViewport(width, 480), prefer("prefers-color-scheme=" + theme), chromedp.Navigate(k.page(page.path)),
				}, append(page.before, chromedp.WaitVisible(page.ready))...)
				limited, stop := context.WithTimeout(ctx, time.Minute)
				err := chromedp.Do(limited, actions...)
				if stop(); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				const png = 100
				picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(png))
				if err == nil {
					err = os.WriteFile(filepath.Join(*screenshots, "ui-"+name+"-"+theme+"-"+size+".png"), picture, 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// release returns the path of a page about a release.
func (k *uiKit) release(name, view string) string { return "/o/releases/default/" + name + "/" + view }
