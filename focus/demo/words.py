"""The vocabulary of the generated web: lists by subject, written for it.

A subject is what a text is about. Its *heads* hold the word that people search
for (足球); its *terms* belong to it without holding that word (英超, 点球), which is
what makes a page hard to judge by one keyword. Clubs, firms, films, resorts,
cities and people are invented. `LATIN` serves the one English host.
"""

from __future__ import annotations

from typing import NamedTuple


class Vocabulary(NamedTuple):
    """The vocabulary of one subject."""

    heads: tuple[str, ...]
    names: tuple[str, ...]
    terms: tuple[str, ...]


def _split(text: str, separator: str | None = None) -> tuple[str, ...]:
    return tuple(text.split(separator))


def _words(heads: str, names: str, terms: str) -> Vocabulary:
    return Vocabulary(_split(heads), _split(names), _split(terms))


WORDS: dict[str, Vocabulary] = {
    "football": _words(
        "足球 足球赛 足球场 足球队 青少年足球 职业足球 足球迷 足球学校",
        "青河联 海东竞技 云岭流浪者 临江星 南湖城 北屿港 江州工人 平川雄鹰 石桥巡游者 "
        "松岭联合 赤湾水手 白塔十一人",
        "英超 欧冠 西甲 德甲 意甲 中超 亚冠 射门 球队 门将 前锋 中场 后卫 点球 角球 任意球 "
        "越位 红牌 黄牌 帽子戏法 主教练 转会 更衣室 客场 主场 积分榜 淘汰赛 小组赛 世界杯 "
        "国家队 传中 头球 反击 补时 替补席 绿茵场 停赛 横梁 禁区",
    ),
    "basketball": _words(
        "篮球 篮球赛 篮球场 篮球队 街头篮球 校园篮球 女子篮球",
        "江州灰狼 海东飓风 云岭山猫 临江快船夫 南湖白鹭 北屿灯塔 平川烈马 石桥铁匠",
        "三分球 扣篮 罚球 篮板 助攻 抢断 盖帽 控卫 中锋 得分后卫 季后赛 常规赛 选秀 全明星 "
        "三双 快攻 挡拆 联防 犯规 加时赛 首发 板凳席 半场 压哨 命中率 场均 总冠军 轮换 暂停 "
        "失误 内线 外线 投篮 上篮",
    ),
    "tennis": _words(
        "网球 网球赛 网球场 网球公开赛 青少年网球",
        "海东公开赛 临江大师赛 云岭杯 南湖邀请赛 北屿草地赛",
        "发球局 破发 抢七 底线 正手 反手 截击 双打 单打 种子选手 大满贯 红土 草地 硬地 盘点 "
        "赛末点 世界排名 资格赛 外卡 双误 接发球 上网 削球 轮空 首轮 球拍 穿线",
    ),
    "finance": _words(
        "财经 财经频道 财经评论 财经记者 财经大学 财经新闻",
        "青河银行 海东证券 云岭基金 临江钢铁 南湖地产 北屿航运 江州电力 平川保险 石桥水泥 松岭药业",
        "股市 大盘 涨停 跌停 基金 债券 利率 汇率 通胀 央行 财报 净利润 营收 分红 上市公司 "
        "成交量 指数 期货 黄金 原油 存款 贷款 房价 首付 楼市 保险 理财 投资者 牛市 熊市 减持 "
        "增持 并购 估值 市盈率 资金面 信托 审计 季报",
    ),
    "travel": _words(
        "旅游 旅游局 旅游线路 旅游攻略 自助旅游 乡村旅游 旅游旺季",
        "云岭古镇 青河峡谷 海东沙滩 南湖湿地 北屿灯塔岛 赤湾渔村 白塔寺 松岭雪场 石桥老街 平川草原",
        "景区 门票 民宿 酒店 导游 行程 签证 航班 高铁 自驾 徒步 露营 古镇 海岛 沙滩 雪山 日出 "
        "温泉 客栈 背包 缆车 栈道 博物馆 夜市 攻略 出境 免税店 游客 观景台 房车 漂流 花海 "
        "梯田 码头 摆渡车",
    ),
    "health": _words(
        "健康 健康知识 心理健康 健康饮食 健康管理 健康体检",
        "江州医院 海东医科大学 云岭中医院 临江疾控中心 南湖社区医院 北屿康复中心",
        "血压 血糖 睡眠 失眠 免疫力 维生素 蛋白质 体检 医生 患者 门诊 手术 疫苗 感冒 咳嗽 过敏 "
        "颈椎 腰椎 关节 膳食纤维 减肥 戒烟 慢性病 糖尿病 心脏 康复 中药 针灸 养生 护士 处方 "
        "药物 营养师 胆固醇 骨密度 肠胃",
    ),
    "film": _words(
        "电影 电影节 电影院 电影票 老电影 电影频道 电影音乐",
        "《雾港来信》 《第七个秋天》 《逆流的河》 《小城邮差》 《旧月台》 《无声的站台》 "
        "《红风筝》 《午夜灯塔》 《长街》 《远山远》",
        "票房 导演 编剧 主演 影片 首映 预告片 剧本 镜头 配乐 特效 影评 获奖 提名 影展 影帝 档期 "
        "排片 剧组 杀青 开机 原著 改编 喜剧 悬疑 动画 纪录片 配角 红毯 片尾 观众 院线 口碑 "
        "胶片 剪辑",
    ),
    "tech": _words(
        "科技 科技公司 科技馆 高科技 科技周 科技园区",
        "青河智能 海东芯片 云岭软件 临江机器人 南湖通信 北屿航天 江州数据 平川电池",
        "芯片 算法 手机 屏幕 处理器 操作系统 人工智能 大数据 云计算 机器人 无人机 卫星 传感器 "
        "电池 充电 摄像头 应用 开源 程序员 服务器 数据中心 带宽 网络安全 漏洞 升级 发布会 "
        "专利 研发 实验室 语音识别 智能家居 可穿戴 折叠屏 量子 物联网",
    ),
    "food": _words(
        "美食 美食街 美食节 美食家 街头美食 美食地图",
        "老江州面馆 海东鱼市 云岭菌子铺 临江茶楼 南湖小厨 石桥豆腐坊 赤湾蟹庄 白塔糕团店",
        "火锅 面条 米粉 饺子 小笼 豆腐 腊肉 清蒸 红烧 爆炒 炖汤 酱油 花椒 辣椒 香菜 葱油 点心 "
        "甜品 糕点 早茶 夜宵 食材 刀工 火候 厨师 菜谱 烘焙 面团 发酵 海鲜 河虾 时令 腌菜 "
        "老字号 食客 砂锅",
    ),
    "society": _words(
        "新闻 本地新闻 新闻发布会",
        "江州市 海东区 云岭县 临江街道 南湖社区 北屿镇 平川村 石桥小学 松岭中学 赤湾派出所",
        "市民 社区 街道 交通 地铁 公交 学校 学生 老师 家长 志愿者 派出所 消防 暴雨 降温 台风 "
        "道路 施工 供水 供电 垃圾分类 停车 物业 老人 孩子 邻居 图书馆 公园 会议 政策 规划 "
        "报名 考试 毕业 就业 招聘 农田 丰收 河道 桥梁",
    ),
}

CITIES = _split("江州 海东 云岭 临江 南湖 北屿 平川 石桥 松岭 赤湾 白塔 青河 东渡 西陵 新港 长堤")
FAMILIES = _split("林 陈 周 吴 郑 何 高 罗 宋 唐 韩 冯 董 萧 程 曹 袁 邓 许 傅 沈 曾 彭 吕")
GIVEN = _split(
    "一鸣 子安 文远 志成 晓峰 海波 嘉言 明轩 思齐 天佑 雨桐 若水 建国 小满 立秋 长青 "
    "望舒 知行 少游 东阳 可欣 佳宁 春晖 云帆"
)
PEOPLE = tuple(family + given for family in FAMILIES for given in GIVEN)
NUMBERS = tuple(str(n) for n in range(2, 49))
SMALL_NUMBERS = _split("一 两 三 四 五")
PINYIN = _split(
    "qinghe haidong yunling linjiang nanhu beiyu jiangzhou pingchuan shiqiao songling "
    "chiwan baita dongdu xiling xingang changdi laochen xiaoman wangshu zixing muyu qiushi"
)

LATIN = Vocabulary(
    (),
    _split("Ashford|Millbrook|Harrow Lane|Eastwick|Pine Hollow|Larkfield|Oak Bend", "|"),
    _split(
        "seedling|compost|rose bed|greenhouse|pruning|orchard|harvest basket|rain barrel|"
        "chess opening|endgame|rook ending|club night|reading group|choir practice|library|"
        "village hall|footpath|hedgerow|allotment|birdsong|pottery class|quilt|sourdough|"
        "marmalade|bookshop|lighthouse|ferry|tide table|bicycle lane|weather vane",
        "|",
    ),
)

# Simplified and traditional forms, in pairs; only letters that the lists here and
# in phrases.py use and whose traditional form does not hang on the word.
_PAIRS = """
与與 专專 业業 东東 两兩 个個 丰豐 为為 举舉 么麼 乐樂 习習 乡鄉 书書 争爭 于於
亏虧 云雲 亚亞 产產 亲親 亿億 从從 们們 价價 众眾 会會 传傳 伤傷 体體 债債 儿兒
关關 养養 册冊 写寫 军軍 农農 冯馮 决決 况況 净淨 减減 几幾 凭憑 击擊 划劃 则則
刚剛 创創 别別 剧劇 办辦 务務 动動 区區 医醫 协協 单單 卖賣 卫衛 却卻 历歷 压壓
厨廚 县縣 参參 双雙 发發 变變 叠疊 号號 叹嘆 吕呂 吗嗎 听聽 启啟 吴吳 员員 响響
团團 园園 围圍 国國 图圖 场場 坏壞 块塊 坚堅 坛壇 墙牆 声聲 处處 备備 复復 够夠
头頭 奖獎 学學 宁寧 实實 审審 宽寬 对對 寻尋 导導 将將 屿嶼 岁歲 岗崗 岛島 岭嶺
峡峽 帅帥 师師 带帶 帮幫 广廣 庄莊 应應 开開 弹彈 强強 归歸 当當 录錄 总總 悬懸
惧懼 惯慣 愿願 戏戲 战戰 户戶 执執 抢搶 护護 报報 担擔 拟擬 拦攔 挂掛 挡擋 换換
据據 摄攝 摆擺 摊攤 敌敵 数數 断斷 无無 旧舊 时時 显顯 晋晉 晓曉 晖暉 暂暫 术術
机機 杀殺 权權 条條 来來 极極 标標 栈棧 栏欄 样樣 档檔 桥橋 梦夢 检檢 楼樓 横橫
欢歡 欧歐 毕畢 气氣 汇匯 汤湯 没沒 测測 浓濃 润潤 涨漲 渔漁 温溫 游遊 湾灣 湿濕
满滿 滩灘 灯燈 炉爐 点點 烟煙 烧燒 热熱 爱愛 猫貓 环環 现現 电電 画畫 盖蓋 盘盤
码碼 确確 离離 种種 积積 称稱 税稅 稳穩 窍竅 竞競 笔筆 笼籠 筝箏 签簽 类類 红紅
纤纖 约約 级級 纪紀 纸紙 线線 练練 组組 细細 绍紹 经經 结結 给給 络絡 绝絕 统統
继繼 续續 维維 综綜 绿綠 缆纜 缓緩 编編 缩縮 网網 罗羅 罚罰 职職 联聯 肠腸 胀脹
胆膽 胜勝 胶膠 脏臟 脚腳 腊臘 腌醃 腾騰 艺藝 节節 荐薦 药藥 获獲 营營 萧蕭 葱蔥
虾蝦 补補 见見 观觀 规規 视視 览覽 计計 认認 讨討 让讓 训訓 议議 记記 讲講 许許
论論 设設 访訪 证證 评評 识識 诊診 试試 语語 误誤 说說 请請 读讀 课課 谁誰 调調
谈談 谢謝 谱譜 负負 财財 责責 败敗 账賬 货貨 质質 购購 贯貫 贴貼 贵貴 贷貸 费費
资資 赛賽 车車 转轉 轮輪 软軟 轻輕 较較 辑輯 边邊 达達 过過 运運 还還 这這 进進
远遠 连連 迟遲 迹跡 适適 选選 邓鄧 邮郵 邻鄰 郑鄭 酱醬 里裡 针針 钟鐘 钢鋼 铁鐵
银銀 铺鋪 链鏈 锁鎖 锅鍋 锋鋒 错錯 锦錦 键鍵 镇鎮 镜鏡 长長 门門 问問 间間 闹鬧
闻聞 阅閱 队隊 阳陽 阵陣 阶階 陈陳 险險 随隨 难難 雾霧 静靜 韩韓 页頁 项項 顺順
顾顧 预預 领領 颈頸 频頻 题題 风風 飓颶 飘飄 饭飯 饮飲 饺餃 馆館 马馬 驾駕 验驗
鱼魚 鲜鮮 鸣鳴 鹭鷺 鹰鷹 黄黃 齐齊
"""

UMBRELLA = dict.fromkeys(("football", "basketball", "tennis"), "体育")
"""Subject -> the wider word that some of its articles are tagged with."""

TAG_IDS = {
    word: number
    for number, word in enumerate(
        dict.fromkeys(
            word
            for words in (*WORDS.values(), LATIN)
            for word in (*words.heads, *words.names, *words.terms)
        )
        | dict.fromkeys(UMBRELLA.values())
    )
}
"""A number for every word that may be a tag, for hosts that keep Chinese out of their paths."""

TAG_SUBJECTS: dict[str, frozenset[str]] = {
    word: frozenset(
        subject
        for subject, words in WORDS.items()
        if word in (*words.heads, *words.names, *words.terms, UMBRELLA.get(subject))
    )
    for word in TAG_IDS
}
"""The subjects a tag belongs to (none for a word of the English host)."""

TO_TRADITIONAL = str.maketrans({pair[0]: pair[1] for pair in _PAIRS.split()})
