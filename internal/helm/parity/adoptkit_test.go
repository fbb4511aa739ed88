// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/cmd"
	"github.com/component-operator/runtime/internal/testenv"
)

// clmVariable makes the test program behave as clm.
const clmVariable = "ADOPTION_TEST_CLM"

func TestMain(m *testing.M) {
	if os.Getenv(clmVariable) != "" {
		os.Exit(cmd.Main(os.Args))
	}
	nameManagers()
	os.Exit(m.Run())
}

// helmTool is a version of Helm.
type helmTool interface {
	install(p *place, chart string, values map[string]any, takeOwnership bool) error
	upgrade(p *place, chart string, values map[string]any) error
	uninstall(p *place) error
}

// place is a namespace in which Helm and clm work.
type place struct {
	*testing.T

	namespace string
	// release is the name of the release of Helm.
	release string
	client  client.Client
}

func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{T: t, namespace: testenv.Namespace(t), release: "web", client: testenv.Client(t)}
	t.Cleanup(p.forget)
	return p
}

// forget takes the finalizers off the records that a test has left, so that the namespace can go.
func (p *place) forget() {
	ctx := context.WithoutCancel(p.Context())
	for _, secret := range p.list(ctx, "v1", "Secret") {
		if len(secret.GetFinalizers()) > 0 {
			patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
			if err := p.client.Patch(ctx, &secret, patch); client.IgnoreNotFound(err) != nil {
				p.Error(err)
			}
		}
	}
}

// getter connects Helm with the namespace. The client does not limit the rate of requests.
func (p *place) getter() *genericclioptions.ConfigFlags {
	flags := genericclioptions.NewConfigFlags(false)
	kubeconfig := testenv.Kubeconfig(p)
	flags.KubeConfig, flags.Namespace = &kubeconfig, &p.namespace
	flags.WrapConfigFn = func(config *rest.Config) *rest.Config {
		config.QPS = -1
		return config
	}
	return flags
}

// clm runs clm, which has to end with the exit code, and returns what it has printed.
func (p *place) clm(code int, args ...string) string {
	p.Helper()
	output, got := p.run("", args...)
	if got != code {
		p.Fatalf("clm %s: want exit code %d, got %d\n%s", strings.Join(args, " "), code, got, output)
	}
	return output
}

// run runs clm in a working folder, and returns what it has printed, and its exit code.
func (p *place) run(folder string, args ...string) (string, int) {
	p.Helper()
	command := exec.CommandContext(p.Context(), os.Args[0], append(slices.Clone(args), "--kubeconfig", testenv.Kubeconfig(p), "-n", p.namespace)...)
	command.Dir, command.Env = folder, append(os.Environ(), clmVariable+"=1", "CI=1")
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	if err := command.Run(); command.ProcessState == nil || !command.ProcessState.Exited() {
		p.Fatalf("clm %s: %v\n%s", strings.Join(args, " "), err, output.String())
	}
	return strings.ReplaceAll(output.String(), p.namespace, "PLACE"), command.ProcessState.ExitCode()
}

// expect requires texts in an output.
func (p *place) expect(output string, texts ...string) {
	p.Helper()
	for _, text := range texts {
		if !strings.Contains(output, text) {
			p.Errorf("want %q in:\n%s", text, output)
		}
	}
}

// expectNone forbids texts in an output.
func (p *place) expectNone(output string, texts ...string) {
	p.Helper()
	for _, text := range texts {
		if strings.Contains(output, text) {
			p.Errorf("do not want %q in:\n%s", text, output)
		}
	}
}

func (p *place) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// get returns an object; nil if it does not exist.
func (p *place) get(apiVersion, kind, name string) *unstructured.Unstructured {
	p.Helper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.FromAPIVersionAndKind(apiVersion, kind))
	err := p.client.Get(p.Context(), client.ObjectKey{Namespace: p.namespace, Name: name}, object)
	if apierrors.IsNotFound(err) {
		return nil
	}
	p.must(err)
	return object
}

// data returns the data of a ConfigMap; nil if it does not exist.
func (p *place) data(name string) map[string]string {
	p.Helper()
	object := p.get("v1", "ConfigMap", name)
	if object == nil {
		return nil
	}
	data, _, err := unstructured.NestedStringMap(object.Object, "data")
	p.must(err)
	return data
}

func (p *place) list(ctx context.Context, apiVersion, kind string) []metav1.PartialObjectMetadata {
	p.Helper()
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(schema.FromAPIVersionAndKind(apiVersion, kind+"List"))
	if err := p.client.List(ctx, list, client.InNamespace(p.namespace)); err != nil {
		p.Fatal(err)
	}
	for i := range list.Items {
		list.Items[i].SetGroupVersionKind(schema.FromAPIVersionAndKind(apiVersion, kind))
	}
	return list.Items
}

// records are the names of the Secrets in which Helm has recorded the release.
func (p *place) records() []string {
	p.Helper()
	var names []string
	for _, secret := range p.list(p.Context(), "v1", "Secret") {
		if secret.Labels["owner"] == "helm" {
			names = append(names, secret.Name)
		}
	}
	return names
}

// chart writes a chart, and returns its folder. Its files are in the format of the sample below.
func (p *place) chart(version, templates string) string {
	p.Helper()
	folder := p.TempDir()
	p.must(os.WriteFile(filepath.Join(folder, "Chart.yaml"), []byte("{apiVersion: v2, name: shop, version: "+version+", appVersion: \"7\"}"), 0o600))
	p.must(os.Mkdir(filepath.Join(folder, "templates"), 0o700))
	for _, file := range strings.Split(templates, "\n-- ")[1:] {
		name, content, _ := strings.Cut(file, " --\n")
		p.must(os.WriteFile(filepath.Join(folder, "templates", name), []byte(content), 0o600))
	}
	return folder
}

// templates are those of a chart with all that Helm treats in a special way.
const templates = `
-- app.yaml --
apiVersion: v1
kind: ConfigMap
metadata:
  name: app
  labels: {app.kubernetes.io/managed-by: {{ .Release.Service }}}
data: {color: {{ .Values.color }}, old: "1"}
-- deployment.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: web, env: [{name: COLOR, value: {{ .Values.color }}}, {name: OLD, value: "1"}]}]
-- kept.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: kept, annotations: {helm.sh/resource-policy: keep}}
data: {color: {{ .Values.color }}}
-- password.yaml --
apiVersion: v1
kind: Secret
metadata: {name: password, annotations: {helm.sh/hook: pre-install}}
stringData: {password: {{ randAlphaNum 12 }}}
-- service.yaml --
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{port: {{ .Values.port }}}]
-- setup.yaml --
apiVersion: batch/v1
kind: Job
metadata: {name: setup, annotations: {helm.sh/hook: pre-install, helm.sh/hook-delete-policy: hook-succeeded}}
spec:
  template:
    spec: {restartPolicy: Never, containers: [{name: setup, image: setup}]}
-- upgrade.yaml --
apiVersion: batch/v1
kind: Job
metadata: {name: upgrade, annotations: {helm.sh/hook: "pre-install,pre-upgrade"}}
spec:
  template:
    spec: {restartPolicy: Never, containers: [{name: upgrade, image: upgrade}]}
`

func values(color string, port int) map[string]any {
	return map[string]any{"color": color, "port": port}
}
