// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package isolated_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/behaviors"
	"github.com/component-operator/runtime/pkg/generator"
	"github.com/component-operator/runtime/pkg/types"
)

// own is a generator in Go that does what its parameters tell.
type own struct{}

func (own) Generate(ctx context.Context, namespace string, name string, parameters types.Unstructurable) ([]client.Object, error) {
	if spec, ok := parameters.(*widgetSpec); ok {
		return describe(ctx, spec)
	}
	content := parameters.ToUnstructured()
	text, _ := content["text"].(string)
	switch content["do"] {
	case "types":
		return typed(namespace, name), nil
	case "foreign type":
		return []client.Object{&widget{}}, nil
	case "behaviors":
		return []client.Object{behaviors.Attach(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, behaviors.AtStep(1), behaviors.NotAwaited{})}, nil
	case "nil":
		return []client.Object{(*corev1.Secret)(nil)}, nil
	case "numbers":
		return []client.Object{configMap("numbers", map[string]string{"types": fmt.Sprintf("%T %T %T %T %v", content["int"], content["number"], content["float"], content["list"], content["list"])})}, nil
	case "numbers of objects":
		return []client.Object{&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Thing", "metadata": map[string]any{"name": "numbers"},
			"spec": map[string]any{"int": 1, "number": json.Number("2"), "list": []any{json.Number("1.5"), uint8(3)}, "texts": []string{"a"}},
		}}}, nil
	case "no data":
		object := configMap("strange", nil).(*unstructured.Unstructured)
		object.Object["data"] = func() {}
		return []client.Object{object}, nil
	case "large":
		return []client.Object{configMap("large", map[string]string{"a": strings.Repeat("x", 17<<20)})}, nil
	case "text":
		return []client.Object{configMap("text", map[string]string{"a": text})}, nil
	case "error":
		return nil, errors.New(text)
	case "retriable":
		delay := 7 * time.Second
		return nil, fmt.Errorf("waiting: %w", types.NewRetriableError(errors.New("not yet"), &delay))
	case "print":
		fmt.Println("printed by the generator")
		return []client.Object{configMap("print", nil)}, nil
	case "read":
		return nil, read(ctx, text)
	}
	return nil, misbehave(ctx, content["do"], text)
}

func misbehave(ctx context.Context, what any, text string) error {
	switch what {
	case "loop":
		return announceAndLoop(text)
	case "panic":
		panic("ouch")
	case "panic elsewhere":
		go panic("ouch elsewhere")
		<-ctx.Done()
	case "fatal":
		(&sync.Mutex{}).Unlock()
	case "exit":
		os.Exit(3)
	}
	return fmt.Errorf("cannot do %v", what)
}

// announceAndLoop opens a named pipe and keeps it open until the process ends.
func announceAndLoop(path string) error {
	pipe, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err := pipe.WriteString("started\n"); err != nil {
		return err
	}
	for i := 0; ; i++ {
		if i < 0 {
			return pipe.Close()
		}
	}
}

// describe says what the generator finds.
func describe(ctx context.Context, spec *widgetSpec) ([]client.Object, error) {
	found, err := generator.ComponentFromContext(ctx)
	if err != nil {
		return nil, err
	}
	if want := (&widget{*component(), "loaded"}); !reflect.DeepEqual(found, want) {
		return nil, fmt.Errorf("got component %#v, want %#v", found, want)
	}
	if want := fullSpec(); !reflect.DeepEqual(spec, want) {
		return nil, fmt.Errorf("got spec %#v, want %#v", spec, want)
	}
	reconciler, _ := generator.ReconcilerNameFromContext(ctx)
	name, _ := generator.ComponentNameFromContext(ctx)
	namespace, _ := generator.ComponentNamespaceFromContext(ctx)
	digest, _ := generator.ComponentDigestFromContext(ctx)
	revision, _ := generator.ComponentRevisionFromContext(ctx)
	installed, _ := generator.InstalledFromContext(ctx)
	return []client.Object{
		configMap("found", map[string]string{
			"context": fmt.Sprintf("%s %s %s %s %d %t %t", reconciler, name, namespace, digest, revision, installed, generator.ReleaseHooksFromContext(ctx)),
		}),
		configMap("second", nil),
	}, nil
}

// typed returns objects of several kinds of Go types.
func typed(namespace, name string) []client.Object {
	return []client.Object{
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: map[string]string{"a": "b"}}, Data: map[string][]byte{"key": {0, 255}}},
		&corev1.Service{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: metav1.ObjectMeta{Name: name}},
		&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.io/v1", "kind": "Thing", "metadata": map[string]any{"name": name},
			"values": []any{int64(1), float64(1), 0.5, "1", true, nil, map[string]any{}, []any{}, "\xff\x00", int64(-1 << 63)},
		}},
	}
}

func configMap(name string, data map[string]string) client.Object {
	content := map[string]any{}
	for key, value := range data {
		content[key] = value
	}
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}, "data": content}}
}

// read returns the error of something that is tried with the clients.
func read(ctx context.Context, what string) error {
	clnt, err := generator.ClientFromContext(ctx)
	if err != nil {
		return err
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "missing", Namespace: "ns"}}
	switch what {
	case "missing":
		return clnt.Get(ctx, client.ObjectKeyFromObject(secret), secret)
	case "unknown":
		thing := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.io/v1", "kind": "Unknown"}}
		return clnt.Get(ctx, client.ObjectKey{Name: "a"}, thing)
	case "write":
		return clnt.Create(ctx, secret)
	case "connect":
		response, err := clnt.HttpClient().Get(clnt.Config().Host + "/version")
		if err == nil {
			_ = response.Body.Close()
		}
		return err
	case "discover":
		_, err := clnt.DiscoveryClient().ServerVersion()
		return err
	case "all":
		return readAll(ctx)
	}
	return http.ErrNotSupported
}
