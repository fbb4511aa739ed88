// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package website has the tests of the site: it is built, and looked at in a browser.
package website

import (
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

var screenshots = flag.String("screenshots", "", "folder for pictures of some pages")

//go:embed testdata/axe.min.js
var axe string

// prefix is the path under which the tests serve the site.
const prefix = "/some/path/"

// folder is where the site is built, if a test needs it.
var folder string

// site builds the site once.
var site = sync.OnceValue(func() error {
	var err error
	if folder, err = os.MkdirTemp("", "site-"); err != nil {
		return err
	}
	return website(folder)
})

// making is held while the site is made, because the generated pages of all versions are in one folder.
var making sync.Mutex

// website makes the site.
func website(target string, variables ...string) error {
	making.Lock()
	defer making.Unlock()
	if output, err := exec.Command("make", append([]string{"-C", "..", "website", "WEBSITE=" + target, "HUGOFLAGS=--noBuildLock"}, variables...)...).CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, output)
	}
	return nil
}

// hugo builds a site from a source.
func hugo(source, target string) error {
	command := exec.Command("go", "tool", "hugo", "--source", source, "--destination", target, "--noBuildLock")
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, output)
	}
	return nil
}

func TestMain(m *testing.M) {
	code := m.Run()
	if folder != "" {
		_ = os.RemoveAll(folder)
	}
	os.Exit(code)
}

func built(t *testing.T) string {
	t.Helper()
	if err := site(); err != nil {
		t.Fatal(err)
	}
	return folder
}

// serve serves the site, and returns its address.
func serve(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.StripPrefix(prefix, http.FileServer(http.Dir(built(t)))))
	t.Cleanup(server.Close)
	return server.URL + prefix
}

// pages returns the paths of all pages, without "index.html".
func pages(t *testing.T) []string {
	t.Helper()
	var pages []string
	root := built(t)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == "index.html" {
			relative, _ := filepath.Rel(root, filepath.Dir(path))
			pages = append(pages, strings.TrimPrefix(filepath.ToSlash(relative)+"/", "./"))
		}
		return err
	})
	if err != nil || len(pages) < 100 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	return pages
}

// browser starts a browser with one tab.
func browser(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.NoSandbox)...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(1280, 900)); err != nil {
		t.Fatalf("starting a browser, which needs Chromium: %v", err)
	}
	return ctx
}

// prefer sets media features, such as "prefers-color-scheme=dark".
func prefer(features ...string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		params := emulation.SetEmulatedMediaParams{}
		for _, feature := range features {
			name, value, _ := strings.Cut(feature, "=")
			params.Features = append(params.Features, &emulation.MediaFeature{Name: name, Value: value})
		}
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, params)
		return err
	})
}

// complaints collects what the browser complains about, and requests to other addresses.
func complaints(ctx context.Context, t *testing.T, address string) func() []string {
	t.Helper()
	var mu sync.Mutex
	var found []string
	err := chromedp.Listen(ctx, func(event any) {
		mu.Lock()
		defer mu.Unlock()
		switch event := event.(type) {
		case *runtime.EventExceptionThrown:
			found = append(found, fmt.Sprintf("exception: %s, line %d of %s", event.ExceptionDetails.Text, event.ExceptionDetails.LineNumber, event.ExceptionDetails.URL))
		case *runtime.EventConsoleAPICalled:
			found = append(found, "console: "+string(event.Type))
		case *log.EventEntryAdded:
			found = append(found, "log: "+event.Entry.Text+" "+event.Entry.URL)
		case *network.EventRequestWillBeSent:
			if !strings.HasPrefix(event.Request.URL, address) && !strings.HasPrefix(event.Request.URL, "data:") {
				found = append(found, "request to "+event.Request.URL)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, log.Enable, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		all := found
		found = nil
		return all
	}
}

// check has axe look for what people with disabilities cannot use.
const check = `axe.run(document, {resultTypes: ["violations"]%s}).then((result) => result.violations
	.filter((each) => each.impact === "serious" || each.impact === "critical")
	.flatMap((each) => each.nodes.map((node) => each.id + ": " + node.target.join(" ") + ": " + node.failureSummary)))`

// generated matches pages that are generated alike. One of each kind stands for the others where a look takes long.
var generated = regexp.MustCompile(`^reference/(go/.|clm/.)`)

// TestPages loads each page, looks whether it fits on a phone, and has axe look at it, light and dark. Dark pages differ from light ones
// in their colors only.
func TestPages(t *testing.T) {
	t.Parallel()
	address := serve(t)
	ctx := browser(t)
	complained := complaints(ctx, t, address)
	for _, page := range pages(t) {
		if err := chromedp.Do(ctx, prefer("prefers-color-scheme=light"), chromedp.Navigate(address+page)); err != nil {
			t.Fatalf("%s: %v", page, err)
		}
		var light, dark []string
		if !generated.MatchString(page) || page == "reference/go/probes/" || page == "reference/clm/clm_apply/" {
			var err, darkErr error
			light, err = axeOn(ctx, "", chromedp.Evaluate[chromedp.Void](axe))
			dark, darkErr = axeOn(ctx, `, runOnly: ["color-contrast"]`, prefer("prefers-color-scheme=dark"))
			if err = errors.Join(err, darkErr); err != nil {
				t.Fatalf("%s: %v", page, err)
			}
		}
		culprits, err := narrow(ctx)
		if err != nil || len(culprits) > 0 {
			t.Errorf("%s is wider than 390 px: %q, %v", page, culprits, err)
		}
		for _, problem := range slices.Concat(light, dark, complained()) {
			t.Errorf("%s: %s", page, problem)
		}
	}
}

// axeOn returns what axe finds with an option after some actions.
func axeOn(ctx context.Context, option string, before ...chromedp.Action[chromedp.Void]) ([]string, error) {
	if err := chromedp.Do(ctx, before...); err != nil {
		return nil, err
	}
	return chromedp.Run(ctx, chromedp.Evaluate[[]string](fmt.Sprintf(check, option), chromedp.EvalAwaitPromise))
}

// wide returns elements that are wider than a phone.
const wide = `document.documentElement.scrollWidth <= 390 ? [] : [...document.querySelectorAll("body *")].filter((each) =>
	each.getBoundingClientRect().right > innerWidth + 1 && !each.closest(".table, pre, svg, .skip")).map((each) => each.outerHTML.slice(0, 80)).slice(0, 3)`

// narrow looks at the present page as on a phone.
func narrow(ctx context.Context) ([]string, error) {
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile)); err != nil {
		return nil, err
	}
	culprits, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](wide))
	return culprits, errors.Join(err, chromedp.Do(ctx, chromedp.EmulateViewport(1280, 900)))
}

// TestKeyboard uses the keyboard only.
func TestKeyboard(t *testing.T) {
	t.Parallel()
	address := serve(t)
	ctx := browser(t)
	if err := chromedp.Do(ctx, prefer("prefers-color-scheme=light"), chromedp.Navigate(address+"concepts/waves/"), chromedp.KeyEvent(kb.Tab)); err != nil {
		t.Fatal(err)
	}
	if first, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.activeElement.textContent`)); err != nil || first != "Skip to content" {
		t.Errorf("the first stop is %q, %v", first, err)
	}
	err := chromedp.Do(ctx, chromedp.KeyEvent("/"), chromedp.KeyEvent("drift"), chromedp.WaitVisible("#hit1"), chromedp.KeyEvent(kb.ArrowDown),
		chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowUp), chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(`//h1[contains(., "Drift")]`),
		chromedp.Focus("#theme"), chromedp.KeyEvent(kb.Enter))
	if err != nil {
		t.Fatal(err)
	}
	if theme, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.documentElement.dataset.theme`)); err != nil || theme != "dark" {
		t.Errorf("the theme is %q, %v", theme, err)
	}
}

// TestSearch asks what users ask. One of the pages must be among the first three.
func TestSearch(t *testing.T) {
	t.Parallel()
	ctx := browser(t)
	if err := chromedp.Do(ctx, chromedp.Navigate(serve(t))); err != nil {
		t.Fatal(err)
	}
	const hits = `[...document.querySelectorAll("#hits a")].slice(0, 3).map((each) => new URL(each.href).pathname.slice(%d))`
	for question, want := range map[string][]string{
		"how do I install clm":                        {"how-to/install/"},
		"make an operator from a helm chart":          {"tutorials/operator-from-a-chart/", "how-to/wrap-a-chart/"},
		"component is stuck not ready":                {"how-to/debug-a-stuck-component/"},
		"namespace is not deleted":                    {"how-to/unblock-a-deletion/", "concepts/deletion/"},
		"keep a PVC when the component is deleted":    {"how-to/keep-objects-on-deletion/"},
		"order in which objects are applied":          {"concepts/waves/"},
		"somebody changed my deployment with kubectl": {"concepts/drift/", "how-to/correct-drift/"},
		"migrate from helm":                           {"how-to/migrate-from-helm/"},
		"argo cd sync waves hooks":                    {"how-to/migrate-from-argo-cd/", "concepts/transformers/"},
		"exit code 4":                                 {"reference/exit-codes/"},
		"several replicas leader election":            {"how-to/run-several-replicas/", "concepts/scaling/"},
		"service account impersonation tenants":       {"how-to/restrict-tenants/", "concepts/tenants/"},
		"immutable field recreate":                    {"concepts/dependents/", "reference/annotations/"},
		"adopt existing objects":                      {"concepts/dependents/", "how-to/adopt-orphan-move/"},
		"metrics and alerts":                          {"reference/metrics/"},
		"test my operator without a cluster":          {"how-to/test-an-operator/"},
		"custom readiness of a custom resource":       {"reference/readiness/", "concepts/dependents/", "reference/annotations/"},
		"rollback a release":                          {"tutorials/first-release/", "reference/clm/clm_rollback/"},
		"plan as comment in a pull request":           {"how-to/use-clm-in-a-pipeline/"},
		"which permissions does the operator need":    {"how-to/grant-permissions/"},
	} {
		err := chromedp.Do(ctx, chromedp.SetValue("#search input", question),
			chromedp.Evaluate[chromedp.Void](`document.querySelector("#search input").dispatchEvent(new Event("input"))`))
		if err != nil {
			t.Fatalf("%s: %v", question, err)
		}
		const shown = `!document.querySelector("#hits").hidden && document.querySelector("#hits").dataset.query === %q`
		if _, err := chromedp.Run(ctx, chromedp.Poll[bool](fmt.Sprintf(shown, question))); err != nil {
			t.Fatalf("%s: %v", question, err)
		}
		got, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](fmt.Sprintf(hits, len(prefix))))
		if err != nil || !slices.ContainsFunc(got, func(hit string) bool { return slices.Contains(want, hit) }) {
			t.Errorf("%s: want one of %q, got %q, %v", question, want, got, err)
		}
	}
}

// TestSize counts what a server that compresses sends for a page, apart from pictures.
func TestSize(t *testing.T) {
	t.Parallel()
	resource := regexp.MustCompile(`(?:href|src)="?([^" >]+\.(?:css|js))`)
	for _, page := range pages(t) {
		files := []string{filepath.Join(page, "index.html")}
		content, err := os.ReadFile(filepath.Join(built(t), files[0]))
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range resource.FindAllStringSubmatch(string(content), -1) {
			files = append(files, filepath.Join(page, match[1]))
		}
		if len(files) < 3 {
			t.Errorf("%s: no style or script is found, only %q", page, files)
		}
		size := 0
		for _, file := range files {
			size += compressed(t, filepath.Join(built(t), file))
		}
		if size > 60<<10 {
			t.Errorf("%s has %d KB", page, size>>10)
		}
	}
}

func compressed(t *testing.T, path string) int {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Len()
}

// TestMistakes adds pages with mistakes. Each mistake must end the build with the name of the file.
func TestMistakes(t *testing.T) {
	t.Parallel()
	err := withPages(t, map[string]string{
		"dead.md": "---\ntitle: Dead links\n---\n\n[A page](nowhere.md)\n[a heading](waves.md#nothing-here)\n[one of this page](#nothing-there)\n" +
			"[a file](../../../pkg/nothing.go)\n\n![a picture](nothing.svg)\n",
		"untitled.md": "Text without a title.\n",
	})
	for _, want := range []string{
		`dead.md:5:1": the link to "nowhere.md" leads nowhere`, "concepts/waves.md has no heading #nothing-here", "concepts/dead.md has no heading #nothing-there",
		`there is no "pkg/nothing.go" in the repository`, `there is no picture "nothing.svg"`, "untitled.md has no title",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
	if err := withPages(t, map[string]string{"fine.md": "---\ntitle: No mistake\n---\n\n[Waves](waves.md#stages), [here](#here)\n\n## Here\n"}); err != nil {
		t.Error(err)
	}
}

// withPages builds the site with more concepts.
func withPages(t *testing.T, pages map[string]string) error {
	t.Helper()
	built(t)
	making.Lock()
	defer making.Unlock()
	folder := filepath.Join(t.TempDir(), "website")
	for _, part := range []string{"assets", "content", "layouts", "build/assets", "build/content", "build/data", "../clm/internal/ui/static"} {
		if err := os.CopyFS(filepath.Join(folder, part), os.DirFS(part)); err != nil {
			t.Fatal(err)
		}
	}
	config, err := os.ReadFile("hugo.toml")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "hugo.toml"), config, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, content := range pages {
		if err := os.WriteFile(filepath.Join(folder, "content/concepts", name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return hugo(folder, t.TempDir())
}

// TestVersions selects another version of a page, one that lacks the page, and the newest version from the note on an older one.
func TestVersions(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	versions := []string{"v0.2.0", "v0.1.0", "main"}
	for _, version := range versions[:2] {
		if err := website(filepath.Join(top, version), "VERSION="+version, "VERSIONS=true"); err != nil {
			t.Fatal(err)
		}
	}
	list, err := json.Marshal(versions)
	if err := errors.Join(err, os.WriteFile(filepath.Join(top, "versions.json"), list, 0o600), os.RemoveAll(filepath.Join(top, "v0.1.0/how-to/install"))); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(top)))
	t.Cleanup(server.Close)
	ctx := browser(t)
	// at waits until a page is there, by its version and path.
	at := func(path string) chromedp.Action[chromedp.Void] {
		version, page, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
		return chromedp.WaitVisible(fmt.Sprintf(`html[data-version=%q][data-page=%q] #versions`, version, page))
	}
	choose := func(version string) chromedp.Action[chromedp.Void] {
		return chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`{const all = document.querySelector("#versions"); all.value = %q; all.dispatchEvent(new Event("change"))}`, version))
	}
	for _, step := range []struct {
		from, choose, want string
	}{
		{"/v0.2.0/concepts/waves/", "v0.1.0", "/v0.1.0/concepts/waves/"},
		{"/v0.1.0/concepts/waves/", "v0.2.0", "/v0.2.0/concepts/waves/"},
		{"/v0.2.0/how-to/install/", "v0.1.0", "/v0.1.0/"},
	} {
		err := chromedp.Do(ctx, chromedp.Navigate(server.URL+step.from), at(step.from), choose(step.choose), at(step.want))
		if err != nil {
			t.Fatalf("from %s to %s: %v", step.from, step.choose, err)
		}
	}
	err = chromedp.Do(ctx, chromedp.Navigate(server.URL+"/v0.1.0/concepts/waves/"), chromedp.Click("#old a"), at("/v0.2.0/concepts/waves/"))
	if err != nil {
		t.Fatal(err)
	}
	if hidden, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`document.querySelector("#old").hidden`)); err != nil || !hidden {
		t.Errorf("there is a note on the newest version, %v", err)
	}
}

// TestScreenshots takes pictures for people to look at.
func TestScreenshots(t *testing.T) {
	if *screenshots == "" {
		t.Skip("run it with -screenshots FOLDER")
	}
	address := serve(t)
	ctx := browser(t)
	for name, page := range map[string]string{"start": "", "tutorial": "tutorials/operator-from-a-chart/", "concept": "concepts/waves/", "reference": "reference/conditions/", "go": "reference/go/component/"} {
		for _, theme := range []string{"light", "dark"} {
			for size, width := range map[string]int64{"wide": 1440, "narrow": 390} {
				err := chromedp.Do(ctx, chromedp.EmulateViewport(width, 900), prefer("prefers-color-scheme="+theme, "prefers-reduced-motion=reduce"), chromedp.Navigate(address+page))
				if err != nil {
					t.Fatal(err)
				}
				picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(90))
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(*screenshots, name+"-"+theme+"-"+size+".jpg"), picture, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
