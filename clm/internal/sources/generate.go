// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilversion "k8s.io/apimachinery/pkg/util/version"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/internal/helm"
	"github.com/component-operator/runtime/internal/rights"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/types"
)

// Request specifies the release to generate objects for.
type Request struct {
	// ReconcilerName is the prefix of annotations, and the API group of the component that templates see.
	ReconcilerName string
	// Namespace and Name of the release.
	Namespace, Name string
	// Revision is the number of the revision that the objects are generated for, at least 1.
	Revision int64
	// Installed means that an earlier revision was completely installed; otherwise, templates see an installation.
	Installed bool
	// Digest identifies the input of the revision.
	Digest string
	// Recorded returns the objects of the last recorded revision of the release, whose versions of ConfigMaps and
	// Secrets are carried over. It is called only if one of the objects is versioned. Defaults to none.
	Recorded func(ctx context.Context) ([]*unstructured.Unstructured, error)
	// ReleaseHooks includes the objects that are applied when the release is tested or rolled back. In any case, the
	// caller must separate the objects with the annotation release-hook, since manifests may have it, too. Defaults to
	// false.
	ReleaseHooks bool
	// Client reads from the cluster of the release. Defaults to that of Offline for Kubernetes version
	// DefaultKubernetesVersion.
	Client cluster.Client
}

// Generated is the result of Generate.
type Generated struct {
	// Objects of all sources, one source after the other. Versioned ConfigMaps and Secrets have the names of their
	// versions; the objects of Request.Recorded that are carried over come last.
	Objects []*unstructured.Unstructured
	// Origins of the objects: the file in the chart, beginning with the name of the chart, or the reference of the
	// source. Objects that are carried over have none.
	Origins []string
	// Notes of the charts, one after the other; may be empty.
	Notes string
}

// Generate generates the objects of all sources for a release, with the values as parameters. Templates see the release
// as a component of kind Component that has the values as spec. It fails if the context ends, if a source fails, or if
// two sources define the same object. The error is a RefusedError if an object cannot be versioned.
func (s *Set) Generate(ctx context.Context, request Request) (*Generated, error) {
	var notes []string
	// Notes are always rendered, as in Helm, so that errors in them are found.
	ctx = helm.WithNotes(ctx, func(text string) { notes = append(notes, strings.TrimSpace(text)) })
	generating, err := s.contextFor(ctx, request)
	if err != nil {
		return nil, err
	}
	objects, origins, err := s.generate(generating, request.Namespace, request.Name)
	if err == nil {
		objects, err = s.rules.TransformObjectsContext(generating, request.Namespace, request.Name, objects)
	}
	if err != nil {
		return nil, err
	}
	result := &Generated{Objects: make([]*unstructured.Unstructured, len(objects)), Origins: origins, Notes: strings.Join(notes, "\n\n")}
	for i, object := range objects {
		if result.Objects[i], err = clients.ToUnstructured(object, clientgoscheme.Scheme); err != nil {
			return nil, err
		}
	}
	result.Objects, err = withVersions(ctx, request, result.Objects)
	return result, err
}

// originated is an object that keeps its origin in transformers that drop or multiply objects.
type originated struct {
	*unstructured.Unstructured

	member int
	origin string
}

// DeepCopyObject also copies the origin.
func (o *originated) DeepCopyObject() runtime.Object {
	return &originated{Unstructured: o.DeepCopy(), member: o.member, origin: o.origin}
}

// generate returns the objects of all members with their origins, and with the annotations of hooks of other tools
// converted. It fails if two members define the same object. Duplicates within a member are left to the engine, since
// an object and its deletion hook may share a name.
func (s *Set) generate(ctx context.Context, namespace, name string) ([]client.Object, []string, error) {
	// The hooks of charts and of other sources are converted separately.
	ofCharts, ofOthers := group{hooks: s.chartHooks}, group{hooks: s.otherHooks}
	definedBy := map[types.ObjectID]int{}
	for i, m := range s.members {
		objects, err := m.generate(ctx, i, namespace, name, types.UnstructurableMap(s.values))
		if err != nil {
			return nil, nil, fmt.Errorf("generating from %s: %w", displayed(m.Reference), err)
		}
		for _, object := range objects {
			key := types.IDOf(object)
			key.Namespace = cmp.Or(key.Namespace, namespace)
			if key.Name == "" {
				continue // its name is going to be generated, or the engine refuses it
			}
			if other, known := definedBy[key]; known && other != i {
				return nil, nil, fmt.Errorf("%s is defined by both %s and %s",
					display.Text(object), displayed(s.members[other].Reference), displayed(m.Reference))
			}
			definedBy[key] = i
		}
		members := &ofOthers
		if m.Kind == Chart {
			members = &ofCharts
		}
		members.objects = append(members.objects, objects...)
	}
	var all []*originated
	for _, group := range []group{ofCharts, ofOthers} {
		if group.hooks != nil {
			var err error
			if group.objects, err = group.hooks.TransformObjectsContext(ctx, namespace, name, group.objects); err != nil {
				return nil, nil, fmt.Errorf("reading hooks: %w", err)
			}
		}
		for _, object := range group.objects {
			known, ok := object.(*originated)
			if !ok {
				return nil, nil, fmt.Errorf("unexpected object of type %T", object)
			}
			all = append(all, known)
		}
	}
	slices.SortStableFunc(all, func(a, b *originated) int { return cmp.Compare(a.member, b.member) })
	objects, origins := make([]client.Object, len(all)), make([]string, len(all))
	for i, each := range all {
		objects[i], origins[i] = each.Unstructured, each.origin
	}
	return objects, origins, nil
}

// isDefinition reports whether an object comes from the folder crds of a chart, and not from a template.
func isDefinition(object client.Object) bool {
	from, _ := object.(*originated)
	return from != nil && strings.Contains(from.origin, "/crds/") && !strings.Contains(from.origin, "/templates/")
}

// group has objects whose hooks are converted together; without a transformer they are not.
type group struct {
	objects []client.Object
	hooks   *manifests.HookTransformer
}

// generate returns objects with their origins.
func (m member) generate(ctx context.Context, i int, namespace string, name string, parameters types.Unstructurable) ([]client.Object, error) {
	files := map[client.Object]string{}
	ctx = helm.WithOrigins(ctx, func(object client.Object, file string) { files[object] = file })
	objects, err := m.generator.Generate(ctx, namespace, name, parameters)
	if err != nil {
		return nil, err
	}
	result := make([]client.Object, len(objects))
	for j, object := range objects {
		plain, ok := object.(*unstructured.Unstructured)
		if !ok {
			return nil, fmt.Errorf("unexpected object of type %T", object)
		}
		result[j] = &originated{Unstructured: plain, member: i, origin: cmp.Or(files[object], displayed(m.Reference))}
	}
	if m.skipsDefinitions {
		result = slices.DeleteFunc(result, isDefinition)
	}
	return result, nil
}

// withVersions gives versioned objects the names of their versions, and appends the earlier versions to keep.
func withVersions(ctx context.Context, request Request, objects []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	rules := Rules{Prefix: request.ReconcilerName + "/", Namespace: request.Namespace}
	if !slices.ContainsFunc(objects, rules.asks) {
		return objects, nil
	}
	var recorded []*unstructured.Unstructured
	if request.Recorded != nil {
		var err error
		if recorded, err = request.Recorded(ctx); err != nil {
			return nil, err
		}
	}
	return rules.Apply(objects, recorded)
}

// contextFor returns the context that generators expect, as in an operator.
func (s *Set) contextFor(ctx context.Context, request Request) (context.Context, error) {
	if request.Client == nil {
		var err error
		if request.Client, err = Offline("", nil); err != nil {
			return nil, err
		}
	}
	return generator.NewContext(ctx, generator.Surroundings{
		ReconcilerName:     request.ReconcilerName,
		Client:             request.Client,
		LocalClient:        request.Client,
		Component:          s.component(request),
		ComponentNamespace: request.Namespace,
		ComponentName:      request.Name,
		ComponentDigest:    request.Digest,
		ComponentRevision:  request.Revision,
		Installed:          request.Installed,
		ReleaseHooks:       request.ReleaseHooks,
	}), nil
}

// component returns the component that templates see in place of the release.
func (s *Set) component(request Request) *unstructured.Unstructured {
	component := &unstructured.Unstructured{Object: map[string]any{"spec": s.Values()}}
	component.SetGroupVersionKind(schema.GroupVersionKind{Group: request.ReconcilerName, Version: "v1alpha1", Kind: "Component"})
	component.SetNamespace(request.Namespace)
	component.SetName(request.Name)
	return component
}

// wholeNumbers converts whole numbers in values files to integers for templates of kustomizations, as in their own
// defaults. Helm's templates get floats, as in Helm.
type wholeNumbers struct {
	manifests.Generator
}

func (w wholeNumbers) Generate(ctx context.Context, namespace string, name string, parameters types.Unstructurable) ([]client.Object, error) {
	if parameters != nil {
		converted, _ := withWholeNumbers(parameters.ToUnstructured()).(map[string]any)
		parameters = types.UnstructurableMap(converted)
	}
	objects, err := w.Generator.Generate(ctx, namespace, name, parameters)
	return objects, ifRestricted(err)
}

// maxExactFloat is the largest number up to which a float64 represents every integer.
const maxExactFloat = 1 << 53

// withWholeNumbers may modify the value.
func withWholeNumbers(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, item := range value {
			value[key] = withWholeNumbers(item)
		}
	case []any:
		for i, item := range value {
			value[i] = withWholeNumbers(item)
		}
	case float64:
		if value == math.Trunc(value) && math.Abs(value) <= maxExactFloat {
			return int64(value)
		}
	}
	return value
}

// DefaultKubernetesVersion is the Kubernetes version of the client libraries.
const DefaultKubernetesVersion = "v1.37.0"

// Offline returns a client that finds no objects. Its discovery client describes a cluster of the given version that
// serves the given API versions in addition to those of Kubernetes. The version may lack the "v" and the patch number,
// and defaults to DefaultKubernetesVersion; suffixes are ignored. API versions have the form group/version or
// group/version/Kind.
func Offline(kubernetesVersion string, apiVersions []string) (cluster.Client, error) {
	parsed, err := utilversion.ParseGeneric(cmp.Or(kubernetesVersion, DefaultKubernetesVersion))
	if err != nil {
		return nil, fmt.Errorf("invalid Kubernetes version %q; must be a version such as 1.36 or v1.36.3", kubernetesVersion)
	}
	server, _, err := rights.Server(fmt.Sprintf("v%d.%d.%d", parsed.Major(), parsed.Minor(), parsed.Patch()), apiVersions)
	if err != nil {
		return nil, err
	}
	// Lookups find nothing, because the mapper knows no types.
	config, httpClient := &rest.Config{}, &http.Client{Transport: unreachable{}}
	clnt, err := client.New(config, client.Options{HTTPClient: httpClient, Mapper: meta.NewDefaultRESTMapper(nil)})
	if err != nil {
		return nil, fmt.Errorf("preparing to work without a cluster: %w", err)
	}
	return cluster.NewClient(clnt, server, nil, config, httpClient), nil
}

// unreachable is a transport without a network.
type unreachable struct{}

func (unreachable) RoundTrip(request *http.Request) (*http.Response, error) {
	return nil, fmt.Errorf("there is no cluster to read %s from", request.URL.Path)
}

// postRenderer runs a command that changes the rendered objects of a chart.
type postRenderer func(rendered *bytes.Buffer) (*bytes.Buffer, error)

// Run implements helm.PostRenderer.
func (p postRenderer) Run(rendered *bytes.Buffer) (*bytes.Buffer, error) { return p(rendered) }

// killDelay is how long child processes of a killed command may keep its output open.
const killDelay = 5 * time.Second

// newPostRenderer returns a post-renderer for a command and its arguments. The command runs in the working folder with
// the environment of this process, and is killed when the context ends. newPostRenderer fails if the command does not
// exist.
func newPostRenderer(ctx context.Context, command []string) (postRenderer, error) {
	path, err := exec.LookPath(command[0])
	if err != nil {
		return nil, fmt.Errorf("post-renderer: %w", err)
	}
	return func(rendered *bytes.Buffer) (*bytes.Buffer, error) {
		isEmpty := rendered.Len() == 0
		process := exec.CommandContext(ctx, path, command[1:]...)
		process.WaitDelay = killDelay
		var stdout, stderr bytes.Buffer
		process.Stdin, process.Stdout, process.Stderr = rendered, &stdout, &stderr
		err := process.Run()
		said := strings.TrimSpace(stderr.String())
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil && said != "":
			return nil, fmt.Errorf("running %s: %w: %s", path, err, said)
		case err != nil:
			return nil, fmt.Errorf("running %s: %w", path, err)
		case !isEmpty && !hasContent(stdout.String()):
			// Otherwise, a broken command without output would delete the whole release.
			return nil, errors.New(strings.TrimSuffix(fmt.Sprintf("%s has written nothing to standard output, where it has to write all objects: %s", path, said), ": "))
		default:
			return &stdout, nil
		}
	}, nil
}

// hasContent reports whether a stream of YAML documents has more than separators and comments.
func hasContent(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") && line != "---" {
			return true
		}
	}
	return false
}
