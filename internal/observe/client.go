// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// NewDynamicClient returns a dynamic client for a connection. It is safe for concurrent use.
func NewDynamicClient(config *rest.Config, httpClient *http.Client) (dynamic.Interface, error) {
	config = dynamic.ConfigFor(config)
	// The dynamic client states the whole path of each request.
	config.APIPath, config.GroupVersion = "/", nil
	config.NegotiatedSerializer = newSerializers(config.NegotiatedSerializer)
	client, err := rest.UnversionedRESTClientForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("creating a client for objects of any kind: %w", err)
	}
	return dynamic.New(client), nil
}

// serializers are those of the dynamic client, with other ones for JSON.
type serializers struct {
	runtime.NegotiatedSerializer

	infos []runtime.SerializerInfo
}

func newSerializers(standard runtime.NegotiatedSerializer) serializers {
	var infos []runtime.SerializerInfo
	for _, info := range standard.SupportedMediaTypes() {
		if info.MediaType == runtime.ContentTypeJSON {
			info.Serializer = serializer{info.Serializer}
			stream := *info.StreamSerializer
			stream.Serializer, stream.Framer = eventSerializer{stream.Serializer}, framer{stream.Framer}
			info.StreamSerializer = &stream
		}
		infos = append(infos, info)
	}
	return serializers{NegotiatedSerializer: standard, infos: infos}
}

// SupportedMediaTypes returns the serializers by media type.
func (s serializers) SupportedMediaTypes() []runtime.SerializerInfo { return s.infos }
