// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/component/internal/outcomes"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/types"
)

func (r *rig) secret(name string, data map[string]string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: name}, StringData: data}
}

// passwordGenerator puts the referenced password into a ConfigMap.
func passwordGenerator(ctx context.Context, namespace, name string, _ types.Unstructurable) ([]client.Object, error) {
	component, err := ComponentFromContext(ctx)
	if err != nil {
		return nil, err
	}
	widget, ok := component.(*Widget)
	if !ok {
		return nil, err
	}
	return []client.Object{&corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Data:       map[string]string{"password": string(widget.Spec.Password.Value())},
	}}, nil
}

// TestReferences makes use of an interval that is longer than the test's patience: what happens, happens by an event.
func TestReferences(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var generator manifests.GeneratorFunc = func(ctx context.Context, namespace, name string, parameters types.Unstructurable) ([]client.Object, error) {
		// The copy that the generator is given has lost what was loaded; see deepCopy. So take it from the parameters.
		spec, _ := parameters.(*WidgetSpec)
		component, _ := ComponentFromContext(ctx)
		if widget, ok := component.(*Widget); ok && spec != nil {
			widget.Spec.Password = spec.Password
		}
		return passwordGenerator(ctx, namespace, name, parameters)
	}
	r.start(NewReconciler[*Widget](r.name, generator, ReconcilerOptions{}))
	widget := r.widget("")
	widget.Spec.Password = &SecretKeyReference{Name: "credentials"}
	widget.Spec.Banner = &ConfigMapReference{Name: "banner"}
	r.create(widget)

	awaitState(r, widget, StatePending, ReadyConditionReasonRetrying)
	_, _, message := widget.Status.GetState()
	for _, part := range []string{"spec.password: reading Secret " + r.namespace + "/credentials", "spec.banner: reading ConfigMap " + r.namespace + "/banner"} {
		if !strings.Contains(message, part) {
			t.Errorf("want the message to contain %q, got %q", part, message)
		}
	}

	r.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "banner"}})
	secret := r.secret("credentials", map[string]string{"passwort": "typo"})
	r.create(secret)
	await(r, widget, "the missing key to be named", func() bool {
		_, _, message := widget.Status.GetState()
		return strings.Contains(message, "Secret "+r.namespace+"/credentials has no key password; its keys are: passwort")
	})

	begin := time.Now()
	change(r, secret, func(s *corev1.Secret) { s.StringData = map[string]string{"password": "one"} })
	awaitReady(r, widget)
	diff(t, "generated", map[string]string{"password": "one"}, r.configMap("demo"))
	revision := widget.Status.Revision

	change(r, secret, func(s *corev1.Secret) { s.StringData = map[string]string{"password": "two"} })
	await(r, widget, "a new revision", func() bool { return widget.Status.Revision > revision && widget.Status.IsReady() })
	diff(t, "generated", map[string]string{"password": "two"}, r.configMap("demo"))
	if elapsed := time.Since(begin); elapsed > outcomes.MissingDelay {
		t.Errorf("changes of references took %s, which is what a timer takes", elapsed)
	}

	// Other Secrets of the namespace, and other keys, do not matter.
	revision = widget.Status.Revision
	r.create(r.secret("other", nil))
	change(r, secret, func(s *corev1.Secret) { s.StringData = map[string]string{"other": "x"} })
	change(r, widget, func(w *Widget) { metav1.SetMetaDataAnnotation(&w.ObjectMeta, "foreign.example.io/a", "b") })
	r.settle(widget)
	diff(t, "revision", revision, widget.Status.Revision)

	// A widget can be deleted although what it refers to is gone.
	r.delete(secret)
	awaitState(r, widget, StatePending, ReadyConditionReasonRetrying)
	r.delete(widget)
	r.awaitGone(widget)
}

func TestLoadingReferences(t *testing.T) {
	t.Parallel()
	content := &observe.ReferencedContent{Data: map[string][]byte{"a": []byte("1"), "b": []byte("2")}}
	empty := &observe.ReferencedContent{}
	for _, test := range []struct {
		reason    string
		reference dataReference
		content   *observe.ReferencedContent
		fallback  []string
		want      any
		wantErr   string
	}{
		{"all data of a ConfigMap", &ConfigMapReference{}, content, nil, map[string]string{"a": "1", "b": "2"}, ""},
		{"one key of a Secret", &SecretKeyReference{Key: "b"}, content, []string{"a"}, []byte("2"), ""},
		{"the first default that is there", &SecretKeyReference{}, content, []string{"x", "b", "a"}, []byte("2"), ""},
		{"defaults do not help if a key is given", &SecretKeyReference{Key: "x"}, content, []string{"a"}, nil, "has no key x; its keys are: a, b"},
		{"an empty object", &ConfigMapKeyReference{Key: "x"}, empty, nil, nil, "has no key x; it has no keys"},
		{"neither key nor default", &ConfigMapKeyReference{}, content, nil, nil, "needs a key, because there is no default"},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			got, err := test.reference.load(test.content, test.fallback)
			if err != nil || test.wantErr != "" {
				if err == nil || err.Error() != test.wantErr {
					t.Errorf("want error %q, got %v", test.wantErr, err)
				}
				return
			}
			diff(t, "content", test.want, got)
		})
	}
}

// pokedReference is a reference of another kind, which fails on demand.
type pokedReference struct {
	Content string
	err     error
	loads   int
}

func (r *pokedReference) Load(_ context.Context, _ client.Client, widget *Widget) error {
	r.loads++
	r.Content += " of " + widget.Name
	return r.err
}

func (r *pokedReference) Digest() string { return r.Content }

// TestOwnKindsOfReferences resolves references that only the component knows.
func TestOwnKindsOfReferences(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.worker.extension = loadExtension[*Widget](s.client)
	reference := &pokedReference{Content: "a"}
	spec := &struct {
		Own *pokedReference `json:"own"`
	}{reference}
	resolve := func(deleting bool) (digest string, o outcomes.Outcome) {
		l := &loading{
			walker: walker{extension: reflect.TypeFor[Reference[*Widget]]()}, source: s.worker.referenced, key: client.ObjectKeyFromObject(s.widget), spec: spec, deleting: deleting,
			extension: func(ctx context.Context, value any) (string, error) { return s.worker.extension(ctx, value, s.widget) },
		}
		_, err := l.load(t.Context())
		return l.digests["spec.own"], outcomes.Of(err)
	}
	found, o := resolve(false)
	if o.Kind != outcomes.Continue || found == "" || reference.loads != 1 {
		t.Fatalf("want one load and a digest, got %+v, %q, %d loads", o, found, reference.loads)
	}
	if changed, _ := resolve(false); changed == found {
		t.Error("want another digest when the content changes")
	}
	reference.err = types.NewRetriableError(errors.New("not yet"), nil)
	if _, o = resolve(false); o.Kind != outcomes.Retriable || o.Message != "loading spec.own: not yet" {
		t.Errorf("want a retry, got %+v", o)
	}
	reference.err = errors.New("boom")
	if _, o = resolve(false); o.Kind != outcomes.Error {
		t.Errorf("want an error, got %+v", o)
	}
	if _, o = resolve(true); o.Kind != outcomes.Continue {
		t.Errorf("want the deletion to go on, got %+v", o)
	}
}

// foreignTarget finds its kubeconfig in a way of its own.
type foreignTarget struct{ Widget }

func (f *foreignTarget) GetKubeConfig() []byte { return f.Spec.Password.Value() }

func TestLostTargetOfAnotherKind(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	component := &foreignTarget{*s.widget}
	component.Spec.Password = &SecretKeyReference{Name: "kubeconfig"}
	component.Status.Inventory = deployed("web")
	component.DeletionTimestamp = new(metav1.Now())
	sc, err := s.worker.newPass(t.Context(), component, nil)
	if err != nil {
		t.Fatal(err)
	}
	if o := sc.load(t.Context()); o.Kind != outcomes.Continue {
		t.Fatal(o.Message)
	}
	o := sc.connect(t.Context())
	if o.Kind != outcomes.Retriable || !strings.Contains(o.Message, "Secret "+s.namespace+"/kubeconfig") {
		t.Errorf("want the deletion to wait for the kubeconfig, got %+v", o)
	}
}

// settle waits until the operator does nothing any more.
func (r *rig) settle(component Component) {
	r.tb.Helper()
	for quiet := 0; quiet < 10; quiet++ {
		r.requests.Reset()
		time.Sleep(100 * time.Millisecond)
		if r.requests.UnderWay() > 0 || r.requests.Len() > 0 {
			quiet = 0
		}
	}
	if err := r.client.Get(r.tb.Context(), client.ObjectKeyFromObject(component), component); err != nil {
		r.tb.Fatal(err)
	}
}

type walkedInline struct {
	Ref SecretKeyReference `json:"inlineRef" fallbackKeys:"x, y"`
}

type walkedNode struct {
	Ref   *SecretReference `json:"ref,omitempty"`
	Nodes []walkedNode     `json:"nodes,omitempty"`
	Next  *walkedNode      `json:"next,omitempty"`
}

type customReference struct{ name string }

func (*customReference) Load(context.Context, client.Client, *Widget) error { return nil }
func (r *customReference) Digest() string                                   { return r.name }

type valueReference map[string]string

func (valueReference) Load(context.Context, client.Client, *Widget) error { return nil }
func (r valueReference) Digest() string                                   { return fmt.Sprint(map[string]string(r)) }

type walkedSpec struct {
	walkedInline `json:",inline"`
	KubeConfig   *KubeConfigSpec               `json:"kubeConfig,omitempty"`
	Plain        string                        `json:"plain"`
	Direct       ConfigMapReference            `json:"direct"`
	NoTag        ConfigMapKeyReference         `fallbackKeys:"a"`
	List         []*SecretKeyReference         `json:"list" fallbackKeys:"l" notFoundPolicy:"ignoreOnDeletion"`
	Array        [2]SecretReference            `json:"array"`
	Map          map[string]SecretKeyReference `json:"map" fallbackKeys:"m"`
	Numbers      map[int]*ConfigMapReference   `json:"numbers"`
	Tree         walkedNode                    `json:"tree"`
	Any          any                           `json:"any"`
	Custom       customReference               `json:"custom"`
	CustomList   []*customReference            `json:"customList"`
	CustomValue  valueReference                `json:"customValue"`
	Raw          apiextensionsv1.JSON          `json:"raw"`
	Bytes        []byte                        `json:"bytes"`
	Channel      chan SecretReference          `json:"-"`
	Function     func(SecretReference)         `json:"-"`
	hidden       SecretReference
}

// found is what is compared of an occurrence.
type found struct {
	Path, Type, Keys string
	Target, Ignored  bool
}

func walked(t *testing.T, w walker, root any) []found {
	t.Helper()
	var all []found
	err := w.walk(root, func(o occurrence) error {
		all = append(all, found{o.Path, reflect.TypeOf(o.Value).String(), fmt.Sprint(o.FallbackKeys()), o.Target, o.IgnoredOnDeletion()})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestWalk(t *testing.T) {
	t.Parallel()
	w := walker{extension: reflect.TypeFor[Reference[*Widget]]()}
	secret := "*component.SecretReference"
	secretKey := "*component.SecretKeyReference"
	for _, test := range []struct {
		reason string
		root   any
		want   []found
	}{
		{
			reason: "references by value are always there, others only if they are set; what is hidden, or no data, is not visited",
			root:   &walkedSpec{hidden: SecretReference{Name: "hidden"}},
			want: []found{
				{Path: "spec.inlineRef", Type: secretKey, Keys: "[x y]"},
				{Path: "spec.direct", Type: "*component.ConfigMapReference", Keys: "[]"},
				{Path: "spec.NoTag", Type: "*component.ConfigMapKeyReference", Keys: "[a]"},
				{Path: "spec.array[0]", Type: secret, Keys: "[]"},
				{Path: "spec.array[1]", Type: secret, Keys: "[]"},
				{Path: "spec.custom", Type: "*component.customReference", Keys: "[]"},
				{Path: "spec.customValue", Type: "component.valueReference", Keys: "[]"},
			},
		}, {
			reason: "elements inherit the tags of the field, in the order of keys",
			root: &struct {
				List    []*SecretKeyReference          `json:"list" fallbackKeys:"l" notFoundPolicy:"ignoreOnDeletion"`
				Map     map[string]*SecretKeyReference `json:"map" fallbackKeys:"m"`
				Numbers map[int]*SecretReference       `json:"numbers"`
			}{
				List:    []*SecretKeyReference{nil, {}},
				Map:     map[string]*SecretKeyReference{"b": {}, "a": {}},
				Numbers: map[int]*SecretReference{1: {}},
			},
			want: []found{
				{Path: "spec.list[1]", Type: secretKey, Keys: "[l]", Ignored: true},
				{Path: `spec.map["a"]`, Type: secretKey, Keys: "[m]"},
				{Path: `spec.map["b"]`, Type: secretKey, Keys: "[m]"},
				{Path: `spec.numbers["1"]`, Type: secret, Keys: "[]"},
			},
		}, {
			reason: "what leads to the target is known",
			root:   &ClientSpec{KubeConfig: &KubeConfigSpec{}},
			want:   []found{{Path: "spec.kubeConfig.secretRef", Type: secretKey, Keys: "[value value.yaml value.yml]", Target: true}},
		},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			diff(t, "references", test.want, walked(t, w, test.root))
			diff(t, "references, the second time", test.want, walked(t, w, test.root))
		})
	}
}

func TestWalkPutsBackWhatIsInMaps(t *testing.T) {
	t.Parallel()
	spec := &walkedSpec{Map: map[string]SecretKeyReference{"a": {Name: "x"}}}
	err := walker{}.walk(spec, func(o occurrence) error {
		if reference, ok := o.Value.(*SecretKeyReference); ok && o.Path == `spec.map["a"]` {
			reference.value = []byte("loaded")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	reference := spec.Map["a"]
	diff(t, "value", "loaded", string(reference.Value()))
}
