#!/bin/sh
# A frontier and two workers on this machine, over a RabbitMQ that is there already.
# On others: focus cluster worker --amqp "$AMQP" (docs/cluster.md).
AMQP=${AMQP:?set AMQP=amqps://user:password@broker.example/}
focus cluster start --amqp "$AMQP" --workers 2 \
    --seed https://sports.sina.com.cn/ --topic 足球 --max-pages 10000
