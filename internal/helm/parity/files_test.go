// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	"helm.sh/helm/v3/pkg/repo"
)

// user is somebody who uses the commands of Helm and clm, without a cluster.
type user struct {
	*testing.T

	folder string
	// programs are the paths of the commands.
	programs map[string]string
}

func newUser(t *testing.T) *user {
	t.Helper()
	u := &user{T: t, folder: t.TempDir()}
	u.programs = map[string]string{"helm": filepath.Join(u.folder, "helm"), "clm": os.Args[0]}
	if output, err := exec.CommandContext(t.Context(), "go", "build", "-mod=mod", "-o", u.programs["helm"], "helm.sh/helm/v3/cmd/helm").CombinedOutput(); err != nil {
		t.Fatalf("building helm: %v\n%s", err, output)
	}
	return u
}

// run runs a command in the folder, and returns what it has printed to standard output.
func (u *user) run(line string) (string, error) {
	words := strings.Fields(line)
	command := exec.CommandContext(u.Context(), u.programs[words[0]], words[1:]...)
	command.Dir = u.folder
	command.Env = append(os.Environ(), clmVariable+"=1", "CI=1", "KUBECONFIG="+os.DevNull, "DOCKER_CONFIG="+u.folder,
		"HELM_CONFIG_HOME="+filepath.Join(u.folder, "config"), "HELM_CACHE_HOME="+filepath.Join(u.folder, "cache"), "HELM_DATA_HOME="+filepath.Join(u.folder, "data"))
	var out, problems bytes.Buffer
	command.Stdout, command.Stderr = &out, &problems
	if err := command.Run(); err != nil {
		return out.String(), fmt.Errorf("%s: %w\n%s", line, err, problems.String())
	}
	return out.String(), nil
}

// must runs a command, which has to be successful.
func (u *user) must(line string) string {
	u.Helper()
	out, err := u.run(line)
	if err != nil {
		u.Fatal(err)
	}
	return out
}

// TestFilesOfHelm uses Helm's command and clm in turn: each finds what the other has stored.
func TestFilesOfHelm(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	chart := files{
		"Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\nappVersion: '7'\nkeywords: [a]\n", "values.yaml": "---\na: 1 # one\n", "ReadMe.md": "# Web\n",
		"crds/b.yaml": "---\nkind: B\n", "crds/c.yaml": "kind: C\n", "templates/a.yaml": "",
	}.dir(t)
	demand := func(handler http.Handler) string {
		server := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
			if _, password, _ := request.BasicAuth(); password != "secret" {
				writer.Header().Set("WWW-Authenticate", `Basic realm="test"`)
				http.Error(writer, "who are you?", http.StatusUnauthorized)
				return
			}
			handler.ServeHTTP(writer, request)
		}))
		t.Cleanup(server.Close)
		return server.Listener.Addr().String()
	}

	u.must("clm package " + chart + " -d charts")
	u.must("helm repo index charts")
	repository := demand(http.FileServer(http.Dir(filepath.Join(u.folder, "charts"))))
	const each = 4
	failures := make(chan error, 2*each)
	for i := range each {
		for _, program := range []string{"helm", "clm"} {
			line := fmt.Sprintf("%s repo add %[1]s%d http://%s --username me --password secret", program, i, repository)
			if program == "clm" {
				line += " --plain-http"
			}
			go func() {
				_, err := u.run(line)
				failures <- err
			}()
		}
	}
	for range 2 * each {
		if err := <-failures; err != nil {
			t.Error(err)
		}
	}
	if known, err := repo.LoadFile(filepath.Join(u.folder, "config", "repositories.yaml")); err != nil || len(known.Repositories) != 2*each {
		t.Errorf("want all repositories to be added, got %v, %v", known, err)
	}
	for _, part := range []string{"all", "chart", "values", "readme", "crds"} {
		want, got := u.must("helm show "+part+" clm1/web"), u.must("clm show "+part+" helm1/web --plain-http")
		if want != got || want == "" {
			t.Errorf("%s: want what Helm shows, %q, got %q", part, want, got)
		}
	}
	u.must("helm repo remove clm0 helm0")
	u.must("clm repo remove clm1 helm1")
	if helm, clm := u.must("helm repo list"), u.must("clm repo list"); strings.Count(helm, "\n") != 1+2*each-4 || strings.Count(helm, "\n") != strings.Count(clm, "\n") {
		t.Errorf("want the same repositories to be left, got %s and %s", helm, clm)
	}

	host := demand(registry.New(registry.Logger(slog.NewLogLogger(slog.DiscardHandler, slog.LevelError))))
	for program, another := range map[string]string{"helm": "clm", "clm": "helm"} {
		into := t.TempDir()
		u.must(program + " registry login " + host + " -u me -p secret --plain-http")
		u.must(another + " push charts/web-1.0.0.tgz oci://" + host + "/" + program + " --plain-http")
		u.must(program + " pull oci://" + host + "/" + program + "/web --plain-http -d " + into)
		want, err := os.ReadFile(filepath.Join(u.folder, "charts", "web-1.0.0.tgz"))
		if got, pullErr := os.ReadFile(filepath.Join(into, "web-1.0.0.tgz")); err != nil || pullErr != nil || !bytes.Equal(want, got) {
			t.Errorf("want what %s has pushed, got %d bytes, %v, %v", another, len(got), err, pullErr)
		}
		u.must(another + " registry logout " + host)
		if _, err := u.run(program + " show chart oci://" + host + "/" + program + "/web --plain-http"); err == nil {
			t.Errorf("want %s to be logged out by %s", program, another)
		}
	}
}
